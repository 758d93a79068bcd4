// A circuit breaker, for those who asked for one: an extender that fails again and again is left alone for a
// while, and its questions fail at once.
#pragma once

#include "base/clock.hpp"

namespace berth::extenders {

struct CircuitOptions {
  int failures = 0;  // in a row, after which it opens; 0: there is none
  Duration pause = std::chrono::seconds(10);
};

// After the pause one question is let through: it closes the circuit, or opens it again.
class Circuit {
 public:
  explicit Circuit(const CircuitOptions& options) : options_(options) {}

  bool open() const { return open_; }
  // May a question be asked now?
  bool Lets(MonoTime now) {
    if (!open_) return true;
    if (now < again_) return false;
    again_ = now + options_.pause;
    return true;
  }
  void Answered(bool well, MonoTime now) {
    if (options_.failures == 0) return;
    failures_ = well ? 0 : failures_ + 1;
    if (well) open_ = false;
    if (failures_ < options_.failures) return;
    open_ = true;
    again_ = now + options_.pause;
  }

 private:
  const CircuitOptions options_;
  int failures_ = 0;
  bool open_ = false;
  MonoTime again_{};
};

}  // namespace berth::extenders
