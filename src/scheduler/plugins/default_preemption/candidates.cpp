#include "scheduler/plugins/default_preemption/candidates.hpp"

#include "scheduler/framework/eviction_cost.hpp"

namespace berth::plugins {
namespace {

using Entry = Importance::Entry;

framework::EvictionCost CostOf(const Candidate& candidate, std::vector<Entry>& buffer) {
  return framework::CostOfEviction(
      candidate.violations, VictimsOf(candidate, buffer),
      [](const Entry& victim) -> std::int64_t { return victim.priority; },
      [](const Entry& victim) { return victim.started; });
}

}  // namespace

std::span<const Entry> VictimsOf(const Candidate& candidate, std::vector<Entry>& buffer) {
  if (candidate.units.empty()) return candidate.victims;
  buffer.clear();
  for (const VictimUnit& unit : candidate.units) {
    for (const VictimUnit::Victim& victim : unit.pods) buffer.push_back(Importance::EntryOf(*victim.pod));
  }
  return buffer;
}

RowSet BestCandidates(const std::vector<Candidate>& candidates) {
  RowSet best;
  framework::EvictionCost least;
  std::vector<Entry> buffer;
  for (const Candidate& candidate : candidates) {
    const framework::EvictionCost cost = CostOf(candidate, buffer);
    if (!best.Empty() && cost > least) continue;
    if (best.Empty() || cost < least) best.Clear();
    least = cost;
    best.Add(candidate.row);
  }
  return best;
}

}  // namespace berth::plugins
