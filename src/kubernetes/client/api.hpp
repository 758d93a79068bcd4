// The API server as the rest of the client sees it: requests, watches, and errors in the terms of client-go
// 0.37.
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

namespace berth::api {
struct Status;
}

namespace berth::client {

// Why a request failed. With http_code 0 no answer arrived; see http::ClientRequest for what `code` then
// says.
struct RequestError {
  ErrorCode code = ErrorCode::kInternal;
  std::string message{};
  int http_code = 0;
  std::string reason{};  // Status.reason: NotFound, Conflict, Expired, ...
  std::vector<std::string> causes{};
  int retry_after_seconds = 0;

  bool answered() const { return http_code != 0; }
  // The request may have taken effect although we do not know: the answer was lost, or the server gave up
  // waiting.
  bool ambiguous() const;
  // Nothing reached the server.
  bool not_sent() const { return !answered() && code == ErrorCode::kUnavailable; }
  bool expired() const { return code == ErrorCode::kExpired; }  // reasons Expired and Gone
  bool too_large_version() const;
  // The server is in passing trouble and said so: InternalError or ServiceUnavailable.
  bool server_trouble() const;
  Error ToError() const { return Error{code, message}; }
};

// By reason; by HTTP code where the reason is unknown, as client-go does.
RequestError FromStatus(const api::Status& status);

using Reply = std::expected<std::string, RequestError>;  // the body of a 2xx answer

struct ApiRequest {
  std::string method = "GET";
  std::string path{};  // with query
  std::string body{};
  std::string content_type = "application/json";
  Duration timeout = std::chrono::seconds(60);  // of each try
  Duration idle_timeout{};  // of a watch: without a byte it ends with kTimeout; zero: for ever
  std::string accept = "application/json, */*";
  // Asked immediately before each try is handed to the kernel; see http::ClientRequest.
  std::function<std::optional<std::string>()> refused{};
};

struct WatchHandlers {
  std::function<void()> on_open{};
  // A line of JSON, or a frame of protobuf, whichever the server has chosen; false ends the watch.
  std::function<bool(std::string_view)> on_line{};
};

// Everything happens on one loop, callbacks included; no callback is called from within Send or Watch.
class Api {
 public:
  using CallId = std::uint64_t;

  virtual ~Api() = default;
  // Calls `done` exactly once.
  virtual CallId Send(ApiRequest request, std::move_only_function<void(Reply)> done) = 0;
  // A streamed answer; `done` is told how it ended, with an empty text for a proper end.
  virtual CallId Watch(ApiRequest request, WatchHandlers handlers,
                       std::move_only_function<void(Reply)> done) = 0;
  // `done` will not be called any more.
  virtual void Cancel(CallId call) = 0;
};

}  // namespace berth::client
