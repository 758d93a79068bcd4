// The client's interface to the API server: requests, watches, and errors in the terms of client-go 0.37.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth {
class LeaseFence;
class Random;
}  // namespace berth
namespace berth::api {
struct Status;
}

namespace berth::client {

// Why a request failed. http_code 0: no response arrived; http::ClientRequest describes `code` for this case.
struct RequestError {
  ErrorCode code = ErrorCode::kInternal;
  std::string message{};
  int http_code = 0;
  std::string reason{};  // Status.reason: NotFound, Conflict, Expired, ...
  std::vector<std::string> causes{};
  int retry_after_seconds = 0;
  // The client has repeated the request after a status of 500 or more, so an earlier attempt may have taken
  // effect. This error is that of the last attempt.
  bool repeated = false;

  bool answered() const { return http_code != 0; }
  // The request may or may not have taken effect: the response was lost, or the server's own deadline
  // expired.
  bool ambiguous() const;
  // The request did not reach the server.
  bool not_sent() const { return !answered() && code == ErrorCode::kUnavailable; }
  bool expired() const { return code == ErrorCode::kExpired; }  // reasons Expired and Gone
  bool too_large_version() const;
  // The server failed (500 or more). A write may have taken effect, or may still do so: etcd commits writes
  // that have timed out.
  bool server_failed() const { return http_code >= 500; }
  // The server reported a temporary failure: InternalError or ServiceUnavailable.
  bool temporary_server_failure() const;
  Error ToError() const { return Error{code, message}; }
};

// Chosen by reason, or by HTTP code if the reason is unknown, as in client-go.
RequestError FromStatus(const api::Status& status);

using Reply = std::expected<std::string, RequestError>;  // the body of a 2xx response

struct ApiRequest {
  std::string method = "GET";
  std::string path{};  // with query
  std::string body{};
  std::string content_type = "application/json";
  // Of each attempt. After a Retry-After no attempt begins later than this after the first one.
  Duration timeout = std::chrono::seconds(60);
  Duration idle_timeout{};  // of a watch: ends with kTimeout after this time without data; zero: no limit
  std::string accept = "application/json, */*";
  bool single_attempt = false;  // never repeated: Retry-After is only reported
  // Called immediately before each attempt is written to the socket; see http::ClientRequest.
  std::function<std::optional<std::string>()> refused{};
};

// For `refused` of a write that only the leader may send: refuses it with "not the leader any more" while the
// fence is closed. The fence must outlive the request.
std::function<std::optional<std::string>()> RefusedUnlessOpen(const LeaseFence& fence);

struct WatchHandlers {
  std::function<void()> on_open{};
  // Receives a line of JSON or a frame of protobuf, as the server chose; returning false ends the watch.
  std::function<bool(std::string_view)> on_line{};
};

// Runs on one loop, callbacks included. Send and Watch never call a callback before they return.
class Api {
 public:
  using CallId = std::uint64_t;

  virtual ~Api() = default;
  // Calls `done` exactly once.
  virtual CallId Send(ApiRequest request, std::move_only_function<void(Reply)> done) = 0;
  // A streamed response. `done` receives the result, with an empty text after a proper end.
  virtual CallId Watch(ApiRequest request, WatchHandlers handlers,
                       std::move_only_function<void(Reply)> done) = 0;
  // `done` is not called any more.
  virtual void Cancel(CallId call) = 0;
};

// The timeoutSeconds of a watch: random between 5 and 10 minutes, as in client-go, so that the watches of
// many clients do not end at once.
int WatchTimeoutSeconds(Random& random);

}  // namespace berth::client
