// Times that clients give as a number of seconds, or a duration, from another time; and the difference of
// times.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"

namespace berth::sandbox {

// `start` plus that many seconds, at most the last second but one of WallTime (in 2262): a client's number
// may be too large for a Duration. Negative numbers count as 0, and starts before 1970 as 1970.
constexpr WallTime TimeAfter(WallTime start, std::int64_t seconds) {
  constexpr WallTime kLatest =
      std::chrono::floor<std::chrono::seconds>(WallTime::max()) - std::chrono::seconds(1);
  if (start >= kLatest) return start;
  start = std::max(start, WallTime{});  // the difference of the others to kLatest is no Duration
  const auto left = std::chrono::floor<std::chrono::seconds>(kLatest - start).count();
  return seconds > left ? kLatest : start + std::chrono::seconds(std::max<std::int64_t>(seconds, 0));
}

// The same for a duration, to the nanosecond.
constexpr WallTime TimeAfter(WallTime start, Duration duration) {
  start = std::max(start, WallTime{});
  return start + std::clamp(duration, Duration::zero(), WallTime::max() - start);
}

// `end` minus `start`, negative if `end` is earlier; saturates at the ends of Duration, as Go's
// time.Time.Sub.
constexpr Duration TimeBetween(WallTime start, WallTime end) {
  Duration::rep difference = 0;
  if (__builtin_sub_overflow(end.time_since_epoch().count(), start.time_since_epoch().count(), &difference))
    return start < end ? Duration::max() : Duration::min();
  return Duration(difference);
}

}  // namespace berth::sandbox
