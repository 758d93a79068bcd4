#include "tools/scheduler_state/age_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::scheduler_state {

std::string AgeText(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (seconds >= 2 * kDay) return fmt::format("{}d", seconds / kDay);
  if (seconds >= 2 * kHour) return fmt::format("{}h", seconds / kHour);
  if (seconds >= 2 * kMinute) return fmt::format("{}m", seconds / kMinute);
  return fmt::format("{}s", std::max<std::int64_t>(0, seconds));
}

}  // namespace berth::scheduler_state
