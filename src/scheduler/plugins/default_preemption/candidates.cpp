#include "scheduler/plugins/default_preemption/candidates.hpp"

#include "scheduler/framework/eviction_cost.hpp"

namespace berth::plugins {
namespace {

framework::EvictionCost CostOf(const Candidate& candidate) {
  using Entry = Importance::Entry;
  return framework::CostOfEviction(
      candidate.violations, candidate.victims,
      [](const Entry& victim) -> std::int64_t { return victim.priority; },
      [](const Entry& victim) { return victim.started; });
}

}  // namespace

RowSet BestCandidates(const std::vector<Candidate>& candidates) {
  RowSet best;
  framework::EvictionCost least;
  for (const Candidate& candidate : candidates) {
    const framework::EvictionCost cost = CostOf(candidate);
    if (!best.Empty() && cost > least) continue;
    if (best.Empty() || cost < least) best.Clear();
    least = cost;
    best.Add(candidate.row);
  }
  return best;
}

}  // namespace berth::plugins
