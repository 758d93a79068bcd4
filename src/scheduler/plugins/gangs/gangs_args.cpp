#include "scheduler/plugins/gangs/gangs_args.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "scheduler/plugins/args_range.hpp"
#include "scheduler/plugins/gangs/group_sources.hpp"

namespace berth::plugins {
namespace {

// Permit waits at most this long, as in kube-scheduler.
constexpr std::int64_t kLongestWait = 15 * 60;
constexpr std::int64_t kMostMembers = 100'000;

}  // namespace

std::vector<std::string> GangsArgs::Validate() const {
  std::vector<std::string> errors;
  const std::vector<std::string> known = GroupSources::Names();
  if (sources.empty())
    errors.push_back(
        fmt::format("sources: Required value: at least one of \"{}\"", fmt::join(known, "\", \"")));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (std::ranges::find(known, sources[i]) == known.end()) {
      const std::string near = Nearest(sources[i], known);
      errors.push_back(fmt::format("sources[{}]: Unsupported value: \"{}\": supported values: \"{}\"{}", i,
                                   sources[i], fmt::join(known, "\", \""),
                                   near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
    } else if (std::find(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(i), sources[i]) !=
               sources.begin() + static_cast<std::ptrdiff_t>(i)) {
      errors.push_back(fmt::format("sources[{}]: Duplicate value: \"{}\"", i, sources[i]));
    }
  }
  CheckRange("permitWaitingTimeSeconds", permit_waiting_time_seconds, 1, kLongestWait, errors);
  CheckRange("maxMembers", max_members, 1, kMostMembers, errors);
  return errors;
}

// The texts are those of scheduler-plugins.
std::vector<std::string> CoschedulingArgs::Validate() const {
  std::vector<std::string> errors;
  const auto check = [&](std::string_view field, std::int64_t value) {
    if (value < 0)
      errors.push_back(fmt::format("{}: Invalid value: {}: must be greater than 0", field, value));
  };
  check("permitWaitingTimeSeconds", permit_waiting_time_seconds);
  check("podGroupBackoffSeconds", pod_group_backoff_seconds);
  return errors;
}

}  // namespace berth::plugins
