// An API server for tests: records requests and returns scripted responses.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "kubernetes/client/api.hpp"

namespace berth::client {

class FakeApi final : public Api {
 public:
  struct Call {
    CallId id;
    ApiRequest request;
    bool watch = false;
    WatchHandlers handlers{};
    std::move_only_function<void(Reply)> done{};
  };

  CallId Send(ApiRequest request, std::move_only_function<void(Reply)> done) override {
    sent.push_back(request.method + " " + request.path);
    open.push_back({.id = ++last_, .request = std::move(request), .done = std::move(done)});
    return last_;
  }
  CallId Watch(ApiRequest request, WatchHandlers handlers,
               std::move_only_function<void(Reply)> done) override {
    sent.push_back("WATCH " + request.path);
    open.push_back({.id = ++last_,
                    .request = std::move(request),
                    .watch = true,
                    .handlers = std::move(handlers),
                    .done = std::move(done)});
    return last_;
  }
  void Cancel(CallId id) override {
    std::erase_if(open, [&](const Call& call) { return call.id == id; });
  }

  // Ends the oldest call.
  void Answer(Reply reply) {
    Call call = std::move(open.front());
    open.pop_front();
    call.done(std::move(reply));
  }
  // Delivers one event to the oldest call, a watch. If the reader returns false the call ends as a real one
  // would.
  void Line(std::string_view line) {
    if (!opened_) Open();
    if (!open.front().handlers.on_line(line)) {
      End(std::unexpected(RequestError{.code = ErrorCode::kCancelled}));
    }
  }
  void Open() {
    opened_ = true;
    if (open.front().handlers.on_open) open.front().handlers.on_open();
  }
  void End(Reply reply = "") {
    opened_ = false;
    Answer(std::move(reply));
  }

  std::vector<std::string> sent;  // "METHOD path" of every call, in order
  std::deque<Call> open;          // calls without a response yet

 private:
  CallId last_ = 0;
  bool opened_ = false;
};

inline Reply Refused(int http_code, std::string reason, std::vector<std::string> causes = {}) {
  ErrorCode code = ErrorCode::kInternal;
  if (reason == "Conflict") code = ErrorCode::kConflict;
  if (reason == "NotFound") code = ErrorCode::kNotFound;
  if (reason == "Expired" || reason == "Gone") code = ErrorCode::kExpired;
  if (reason == "TooManyRequests") code = ErrorCode::kThrottled;
  if (reason == "ServiceUnavailable") code = ErrorCode::kUnavailable;
  if (reason == "Timeout") code = ErrorCode::kTimeout;
  if (http_code == 422) code = ErrorCode::kInvalid;
  return std::unexpected(RequestError{.code = code,
                                      .message = reason,
                                      .http_code = http_code,
                                      .reason = reason,
                                      .causes = std::move(causes)});
}
inline Reply NotReached() {
  return std::unexpected(RequestError{.code = ErrorCode::kUnavailable, .message = "connection refused"});
}
inline Reply AnswerLost() {
  return std::unexpected(RequestError{.code = ErrorCode::kAmbiguous, .message = "connection reset"});
}

}  // namespace berth::client
