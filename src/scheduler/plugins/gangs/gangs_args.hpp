// Arguments of Gangs, and of Coscheduling as in scheduler-plugins v0.33.5.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "scheduler/framework/typed_args.hpp"

namespace berth::plugins {

struct GangsArgs {
  // Where groups come from (group_sources.hpp); for a pod, the first one that has a group for it counts.
  std::vector<std::string> sources;
  std::int64_t permit_waiting_time_seconds = 60;
  // More members in one group keep all of them waiting: an attempt places the whole group.
  std::int64_t max_members = 10'000;

  static constexpr std::string_view kKind = "GangsArgs";
  static auto Fields() {
    using framework::Field;
    return std::tuple(Field("sources", &GangsArgs::sources),
                      Field("permitWaitingTimeSeconds", &GangsArgs::permit_waiting_time_seconds),
                      Field("maxMembers", &GangsArgs::max_members));
  }
  std::vector<std::string> Validate() const;
};

struct CoschedulingArgs {
  std::int64_t permit_waiting_time_seconds = 60;
  // Has no effect: a group that was rejected waits for the back-off of the queue.
  std::int64_t pod_group_backoff_seconds = 0;

  static constexpr std::string_view kKind = "CoschedulingArgs";
  static auto Fields() {
    using framework::Field;
    return std::tuple(Field("permitWaitingTimeSeconds", &CoschedulingArgs::permit_waiting_time_seconds),
                      Field("podGroupBackoffSeconds", &CoschedulingArgs::pod_group_backoff_seconds));
  }
  std::vector<std::string> Validate() const;
};

}  // namespace berth::plugins
