// How long a pod has run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"

namespace berth::plugins {

// `start_time`: Unix seconds of the pod's status, which may be outside of the range of a WallTime. Zero if it
// is in the future; at most about a hundred years, so that differences of times do not overflow.
inline Duration RunTimeOf(std::int64_t start_time, WallTime now) {
  constexpr std::int64_t kLongest = std::int64_t{100} * 366 * 24 * 3600;
  const std::int64_t seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (start_time > seconds) return {};
  const std::int64_t start = std::max(start_time, seconds - kLongest);
  return now - WallTime(std::chrono::seconds(start));
}

}  // namespace berth::plugins
