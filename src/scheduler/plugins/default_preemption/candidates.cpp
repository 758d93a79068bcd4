#include "scheduler/plugins/default_preemption/candidates.hpp"

#include <algorithm>
#include <compare>

namespace berth::plugins {
namespace {

// Compared member by member; less is better.
struct Cost {
  std::int64_t violations = 0;
  std::int64_t highest_priority = 0;
  std::int64_t sum_of_priorities = 0;
  std::size_t victims = 0;
  std::int64_t started_ago = 0;
  friend auto operator<=>(const Cost&, const Cost&) = default;
};

Cost CostOf(const Candidate& candidate) {
  Cost cost{.violations = candidate.violations, .victims = candidate.victims.size()};
  // Shifts priorities to be non-negative, so that more victims never have a smaller sum.
  constexpr std::int64_t kShift = std::int64_t{INT32_MAX} + 1;
  for (const Importance::Entry& victim : candidate.victims)
    cost.sum_of_priorities += victim.priority + kShift;
  cost.highest_priority = candidate.victims.front().priority;
  // Reviewers may reorder victims, so the highest priority is searched.
  std::int64_t highest = INT64_MIN;
  std::int64_t earliest = 0;
  for (const auto& [priority, started, pod] : candidate.victims) {
    if (priority > highest || (priority == highest && started < earliest)) earliest = started;
    highest = std::max<std::int64_t>(highest, priority);
  }
  cost.started_ago = -earliest;
  return cost;
}

}  // namespace

RowSet BestCandidates(const std::vector<Candidate>& candidates) {
  RowSet best;
  Cost least;
  for (const Candidate& candidate : candidates) {
    const Cost cost = CostOf(candidate);
    if (!best.Empty() && cost > least) continue;
    if (best.Empty() || cost < least) best.Clear();
    least = cost;
    best.Add(candidate.row);
  }
  return best;
}

}  // namespace berth::plugins
