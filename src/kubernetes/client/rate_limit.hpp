// Client-side rate limit: client-go's token bucket.
#pragma once

#include <algorithm>

#include "base/clock.hpp"

namespace berth::client {

// `qps` tokens are added per second, at most `burst` are kept; 0 qps: no limit. One thread.
class RateLimit {
 public:
  RateLimit(double qps, int burst) : qps_(qps), burst_(std::max(burst, 1)), tokens_(burst_) {}

  // Takes a token, possibly a future one; returns the time to wait for it.
  Duration Take(MonoTime now) {
    if (qps_ <= 0) return Duration::zero();
    if (started_)
      tokens_ = std::min(burst_, tokens_ + std::chrono::duration<double>(now - last_).count() * qps_);
    started_ = true;
    last_ = now;
    tokens_ -= 1;
    if (tokens_ >= 0) return Duration::zero();
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(-tokens_ / qps_));
  }

 private:
  const double qps_;
  const double burst_;
  double tokens_;
  bool started_ = false;
  MonoTime last_{};
};

}  // namespace berth::client
