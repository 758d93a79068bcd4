// Cron schedules such as "*/5 9-17 * * mon-fri", in UTC.
#pragma once

#include <bitset>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::sandbox {

// The schedules and errors of robfig/cron v3, which Kubernetes uses; of a wrong duration after @every without
// the reason. Time zones in the text are not supported: kube-apiserver rejects them.
class CronSchedule {
 public:
  // Five fields (minute, hour, day of month, month, day of week from 0 for Sunday to 6), @hourly, @daily,
  // @midnight, @weekly, @monthly, @yearly, @annually, or "@every 1h30m". Names of months and days, lists,
  // ranges, steps.
  static Expected<CronSchedule> Parse(std::string_view text);
  // The first matching time after `time`; nullopt if there is none within five years or before the last
  // minute of WallTime. An interval counts from `time`.
  std::optional<WallTime> Next(WallTime time) const;
  // The last matching time after `after` and until `until`; nullopt if there is none, or none within ten
  // years before `until`. An interval counts from `after`.
  std::optional<WallTime> Last(WallTime after, WallTime until) const;

 private:
  std::bitset<64> minutes_, hours_, days_, months_, weekdays_;
  // A star without a step: then only the other field restricts the day. If both fields restrict it, one of
  // them suffices.
  bool any_day_ = false, any_weekday_ = false;
  std::optional<std::chrono::seconds> interval_;  // of @every; the fields are empty then
};

}  // namespace berth::sandbox
