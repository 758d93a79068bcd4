// The connection to an extender as an interface, so that tests can replace it.
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

struct TransportRequest {
  std::string url;
  std::string body;
  Duration timeout{};  // from the start of the request to the last byte of the response; zero: none
  // Called before the first byte is sent (see http::ClientRequest): a text is the reason why the request must
  // not be sent. May be empty.
  std::function<std::optional<std::string>()> refused{};
};

struct Reply {
  int status = 0;
  std::string body;
  // The error that truncated the body; empty if the body is complete.
  std::string cut_short{};
};

// The connections of one extender. Thread-safe.
class Transport {
 public:
  using CallId = std::uint64_t;
  // Error texts are those of Go's http.Client, so that events equal kube-scheduler's.
  using Done = std::move_only_function<void(Expected<Reply>)>;

  virtual ~Transport() = default;
  // POSTs JSON and follows redirects. Calls `done` exactly once, from any thread, possibly before it returns.
  virtual CallId Send(TransportRequest request, Done done) = 0;
  // Ends a request with kCancelled; no effect if it is complete.
  virtual void Cancel(CallId call) = 0;
};

// Creates the transport of a configured extender. Errors are user-readable start-up errors.
using TransportMaker = std::function<Expected<std::unique_ptr<Transport>>(const config::ExtenderConfig&)>;

}  // namespace berth::extenders
