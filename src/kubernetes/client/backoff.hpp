// Exponential delays with jitter, as in k8s.io/utils and apimachinery v0.37.
#pragma once

#include <algorithm>

#include "base/clock.hpp"
#include "base/random.hpp"

namespace berth::client {

struct BackoffOptions {
  Duration initial{};
  double factor = 2;
  double jitter = 1;                       // the delay is uniform in [d, d * (1 + jitter))
  Duration cap = Duration::max();          // of d, before jitter
  Duration reset_after = Duration::max();  // after this time without a delay, restart from the initial one
};

// One thread.
class Backoff {
 public:
  explicit Backoff(const BackoffOptions& options) : options_(options), next_(options.initial) {}

  Duration Next(MonoTime now, Random& random) {
    if (started_ && now - last_ > options_.reset_after) Reset();
    started_ = true;
    last_ = now;
    const Duration base = std::min(next_, options_.cap);
    next_ = std::min(options_.cap, Scaled(base, options_.factor));
    return base + Scaled(base, options_.jitter * random.Unit());
  }
  // The next delay is the initial one.
  void Reset() { next_ = options_.initial; }

 private:
  static Duration Scaled(Duration d, double by) {
    return Duration(static_cast<Duration::rep>(static_cast<double>(d.count()) * by));
  }

  const BackoffOptions options_;
  Duration next_;
  MonoTime last_{};
  bool started_ = false;
};

}  // namespace berth::client
