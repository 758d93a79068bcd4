// The API server: serves requests on objects and watches. Follows kube-apiserver v1.37 where schedulers,
// kubectl and common clients can observe a difference.
#pragma once

#include <memory>

#include "base/timer_queue.hpp"
#include "http/server.hpp"
#include "sandbox/apiserver/list.hpp"
#include "sandbox/apiserver/request.hpp"
#include "sandbox/apiserver/watch.hpp"

namespace berth::sandbox {

struct ApiServerOptions {
  std::shared_ptr<const Policy> policy = nullptr;  // null: every request is allowed
  bool field_ownership = true;  // maintain metadata.managedFields; if false, apply never reports conflicts
};

// One thread: the HTTP server's.
class ApiServer {
 public:
  ApiServer(Verbs& verbs, TimerQueue& timers, Random& random, ApiServerOptions options = {});

  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange);
  // The response to a request that could not be parsed.
  static http::Response Refusal(int status);

  WatchHub& watches() { return watches_; }

 private:
  using Exchange = std::shared_ptr<http::Exchange>;
  using Warnings = std::vector<std::string>;

  ApiResult<> Serve(ApiRequest& request, const Exchange& exchange);
  ApiResult<> ServeCollection(const ApiRequest& request, const View& view, const Exchange& exchange);
  ApiResult<> ServeObject(const ApiRequest& request, const View& view, Part part, const Exchange& exchange);
  ApiResult<> ServeSubresource(const ApiRequest& request, const View& view, const Exchange& exchange);

  ApiResult<> List(const ApiRequest& request, const View& view, const Exchange& exchange);
  void AnswerList(const ListOptions& options, const View& view, const Exchange& exchange);
  ApiResult<> Create(const ApiRequest& request, const View& view, const Exchange& exchange);
  ApiResult<> Delete(const ApiRequest& request, const View& view, const Exchange& exchange);
  ApiResult<> DeleteCollection(const ApiRequest& request, const View& view, const Exchange& exchange);
  ApiResult<> Bind(const ApiRequest& request, const Exchange& exchange);
  ApiResult<> Evict(const ApiRequest& request, const Exchange& exchange);
  ApiResult<> Finalize(const ApiRequest& request, const View& view, const Exchange& exchange);
  ApiResult<WriteOptions> Writing(const ApiRequest& request, std::optional<PatchType> patch,
                                  Warnings& warnings) const;
  void Answer(const Exchange& exchange, int status, const View& view, const ObjectPtr& object,
              const Warnings& warnings = {});

  Verbs& verbs_;
  TimerQueue& timers_;
  Random& random_;
  ApiServerOptions options_;
  WatchHub watches_;
};

}  // namespace berth::sandbox
