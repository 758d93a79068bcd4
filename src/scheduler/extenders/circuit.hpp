// An optional circuit breaker: after repeated failures, an extender is not called for a while, and its
// requests fail immediately.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace berth::extenders {

struct CircuitOptions {
  int failures = 0;  // consecutive failures that open the circuit; 0: disabled
  Duration pause = std::chrono::seconds(10);
};

// After the pause, one request is allowed: its result closes the circuit or opens it again.
class Circuit {
 public:
  explicit Circuit(const CircuitOptions& options) : options_(options) {}

  // What requests depend on besides the options, as a value.
  struct State {
    std::int32_t failures = 0;
    bool open = false;
    MonoTime again;

    static void VisitFields(auto& self, auto&& visit) {
      visit("failures", self.failures);
      visit("open", self.open);
      visit("again", self.again);
    }
  };
  State Save() const { return {failures_, open_, again_}; }
  void Restore(const State& state) {
    failures_ = state.failures;
    open_ = state.open;
    again_ = state.again;
  }

  bool open() const { return open_; }
  // Whether a request may be sent now.
  bool Allows(MonoTime now) {
    if (!open_) return true;
    if (now < again_) return false;
    again_ = now + options_.pause;
    return true;
  }
  void OnResult(bool succeeded, MonoTime now) {
    if (options_.failures == 0) return;
    failures_ = succeeded ? 0 : failures_ + 1;
    if (succeeded) open_ = false;
    if (failures_ < options_.failures) return;
    open_ = true;
    again_ = now + options_.pause;
  }

 private:
  const CircuitOptions options_;
  std::int32_t failures_ = 0;
  bool open_ = false;
  MonoTime again_{};
};

}  // namespace berth::extenders
