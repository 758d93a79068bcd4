// Cron schedules such as "*/5 9-17 * * mon-fri", in UTC.
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
  // The first matching time after `time`; nullopt if there is none within five years.
  std::optional<WallTime> Next(WallTime time) const;
  // The last matching time after `after` and until `until`; nullopt if there is none, or none within ten
  // years before `until`.
  std::optional<WallTime> Last(WallTime after, WallTime until) const;

 private:
  std::bitset<64> minutes_, hours_, days_, months_, weekdays_;
  // A star without a step: then only the other field restricts the day. If both fields restrict it, one of
  // them suffices.
  bool any_day_ = false, any_weekday_ = false;
};

}  // namespace berth::sandbox
