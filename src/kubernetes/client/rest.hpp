// Requests to an API server over HTTP, with client-go 0.37's retries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kubernetes/client/api.hpp"

namespace berth::http {
class Loop;
class Transport;
}  // namespace berth::http
namespace berth::metrics {
class Registry;
}

namespace berth::client {

// "kube-scheduler/v1.37.1 (linux/amd64) kubernetes/<commit>[/<suffix>]". The text before the first slash is
// the field manager, so it stays kube-scheduler's.
std::string UserAgent(std::string_view suffix);

// The client's credentials, called before every request; on the io thread.
class Credentials {
 public:
  virtual ~Credentials() = default;
  // Calls `then` when Authorization can return a value, possibly before this call returns; with an error if
  // it cannot.
  virtual void WhenReady(std::move_only_function<void(Expected<>)> then) { then({}); }
  // The Authorization header's value; empty: none.
  virtual std::string Authorization() = 0;
  // A number that identifies the current credential and changes with it.
  virtual std::uint64_t Serial() const { return 0; }
  // The server responded 401 to the credential with this serial: it is removed if it is still cached.
  virtual void OnUnauthorized(std::uint64_t serial) = 0;
};

struct RestOptions {
  std::string host{};  // "host:port", a label of the metrics
  std::string user_agent = UserAgent("");
  std::shared_ptr<Credentials> credentials{};                  // null: anonymous
  std::vector<std::pair<std::string, std::string>> headers{};  // added to every request
  double qps = 0;  // average requests per second, watches not counted; 0: no limit
  int burst = 1;   // maximum burst of requests
};

// Retries, all on the loop's timers:
//   429 or 5xx with an integer Retry-After   waits as requested, up to 10 times, every method
//   connection reset, response lost          GET only, 1 s apart, up to 10 times in all
// and no others; none for ApiRequest::single_attempt. A wait is 30 s at most. A request whose next attempt
// would begin later than its timeout after its first one is not repeated: the response is reported. client-go
// waits as long as the server demands, and only the context of the request ends that; requests here have
// none. RequestError::repeated is set if the last attempt failed after one with 5xx.
//
// Lives on `loop`; `loop` and `transport` must outlive it; the destructor ends every call with kCancelled.
// Counts the rest_client_* metrics of client-go 0.37, watches under their own status codes only.
class RestClient final : public Api {
 public:
  RestClient(http::Loop& loop, http::Transport& transport, metrics::Registry& registry, RestOptions options);
  ~RestClient() override;
  RestClient(const RestClient&) = delete;
  RestClient& operator=(const RestClient&) = delete;

  CallId Send(ApiRequest request, std::move_only_function<void(Reply)> done) override;
  CallId Watch(ApiRequest request, WatchHandlers handlers,
               std::move_only_function<void(Reply)> done) override;
  void Cancel(CallId call) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
