// "*/5 9-17 * * mon-fri" as cron reads it, in UTC.
#pragma once

#include <bitset>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::sandbox {

class CronSchedule {
 public:
  // Five fields (minute, hour, day of month, month, day of week) or @hourly, @daily, @midnight, @weekly,
  // @monthly,
  // @yearly, @annually. Names of months and days, lists, ranges, steps.
  static Expected<CronSchedule> Parse(std::string_view text);
  // The first moment after `time`; nothing within five years.
  std::optional<WallTime> Next(WallTime time) const;

 private:
  std::bitset<64> minutes_, hours_, days_, months_, weekdays_;
  bool any_day_ = false, any_weekday_ = false;  // a star: then only the other one counts
};

}  // namespace berth::sandbox
