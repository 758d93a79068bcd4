// How kube-scheduler compares preemption candidates (v1.37.1: pickOneNodeForPreemption in
// pkg/scheduler/framework/preemption/preemption.go).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>

namespace berth::framework {

// Compared member by member, in this order; less is better.
struct EvictionCost {
  std::int64_t violations = 0;  // victims whose eviction violates a PodDisruptionBudget
  std::int64_t highest_priority = 0;
  std::int64_t sum_of_priorities = 0;
  std::size_t victims = 0;
  // The start of the victim that started first among those of the highest priority, negative: it should have
  // started late.
  std::int64_t started_ago = 0;
  friend auto operator<=>(const EvictionCost&, const EvictionCost&) = default;
};

// The victims are never empty. `priority_of` and `start_of` are called with each of them; the start is in
// Unix seconds, INT64_MAX for a pod that has not started.
template <std::ranges::sized_range Victims, class PriorityOf, class StartOf>
EvictionCost CostOfEviction(std::int64_t violations, const Victims& victims, PriorityOf&& priority_of,
                            StartOf&& start_of) {
  EvictionCost cost{.violations = violations, .victims = std::ranges::size(victims)};
  // Shifts priorities to be non-negative, so that more victims never have a smaller sum.
  constexpr std::int64_t kShift = std::int64_t{INT32_MAX} + 1;
  // The first victim is the most important one, unless reviewers have reordered the victims: the priority
  // that kube-scheduler compares is that of the first, but it searches for the highest one to compare the
  // starts.
  cost.highest_priority = priority_of(*std::ranges::begin(victims));
  std::int64_t highest = INT64_MIN;
  std::int64_t earliest = 0;
  for (const auto& victim : victims) {
    const std::int64_t priority = priority_of(victim);
    const std::int64_t started = start_of(victim);
    cost.sum_of_priorities += priority + kShift;
    if (priority > highest || (priority == highest && started < earliest)) earliest = started;
    highest = std::max(highest, priority);
  }
  cost.started_ago = -earliest;
  return cost;
}

}  // namespace berth::framework
