// How an extender is reached, as a port: tests answer by themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/extender_config.hpp"

namespace berth::extenders {

struct Question {
  std::string url;
  std::string body;
  Duration timeout{};  // from asking to the last byte of the answer; zero: none
  // See http::ClientRequest: asked before the first byte is sent; a text says why it may not be. May be
  // empty.
  std::function<std::optional<std::string>()> refused{};
};

struct Reply {
  int status = 0;
  std::string body;
  // Why the body ends before its end; empty if it is whole.
  std::string cut_short{};
};

// One extender's connections. Safe from any thread.
class Transport {
 public:
  using CallId = std::uint64_t;
  // Errors read as those of Go's http.Client, so that events read as kube-scheduler's.
  using Done = std::move_only_function<void(Expected<Reply>)>;

  virtual ~Transport() = default;
  // POSTs JSON, following redirects. Calls `done` exactly once, from any thread, perhaps before it returns.
  virtual CallId Ask(Question question, Done done) = 0;
  // Ends a question with kCancelled; does nothing if it was answered.
  virtual void Cancel(CallId call) = 0;
};

// Makes the transport for an extender of the configuration. Errors are start-up texts.
using TransportMaker = std::function<Expected<std::unique_ptr<Transport>>(const config::ExtenderConfig&)>;

}  // namespace berth::extenders
