// Requests to an API server over HTTP, retried where client-go 0.37 retries.
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

// "kube-scheduler/v1.37.1 (linux/amd64) kubernetes/<commit>[/<suffix>]". What stands before the first slash
// is the field manager, so it stays kube-scheduler's.
std::string UserAgent(std::string_view suffix);

// Who we are, asked before every request; on the io thread.
class Credentials {
 public:
  virtual ~Credentials() = default;
  // Calls `then` when Authorization has something to say, perhaps at once; fails if that cannot be.
  virtual void WhenReady(std::move_only_function<void(Expected<>)> then) { then({}); }
  // The Authorization header's value; empty: none.
  virtual std::string Authorization() = 0;
  // Which credential it is that Authorization speaks of: a number that changes with it.
  virtual std::uint64_t Serial() const { return 0; }
  // The server answered 401 to the credential of this serial: if it is still cached it is not worth keeping.
  virtual void OnUnauthorized(std::uint64_t serial) = 0;
};

struct RestOptions {
  std::string host{};  // "host:port", a label of the metrics
  std::string user_agent = UserAgent("");
  std::shared_ptr<Credentials> credentials{};                  // null: anonymous
  std::vector<std::pair<std::string, std::string>> headers{};  // sent with every request
  double qps = 0;  // requests per second over time, watches not counted; 0: as many as there are
  int burst = 1;   // how many may go at once
};

// Retries, all on the loop's timers:
//   429 or 5xx with an integer Retry-After   waits as told, up to 10 times, every method
//   connection reset, answer lost            GET only, 1 s apart, up to 10 times in all
// and nothing else. Lives on `loop`; `loop` and `transport` outlive it; its destructor ends every call with
// kCancelled. Counts the rest_client_* metrics of client-go 0.37, watches under their own
// status codes only.
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
