// Preemption candidates and their comparison.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/row_set.hpp"
#include "scheduler/plugins/default_preemption/importance.hpp"
#include "scheduler/plugins/default_preemption/victim_units.hpp"

namespace berth::plugins {

struct Candidate {
  cluster::Row row = cluster::kNoRow;
  std::vector<Importance::Entry> victims;  // by descending importance; empty: `units`
  std::int64_t violations = 0;             // victims whose eviction violates a PodDisruptionBudget
  // The victims on nodes with members of groups, by descending importance. Thousands of members may be
  // victims on hundreds of nodes: the candidates share the list of a group.
  std::vector<VictimUnit> units = {};
};

// The candidate's victims by descending importance; at least one. `buffer` is overwritten if they are units;
// the result is valid as long as neither changes.
std::span<const Importance::Entry> VictimsOf(const Candidate& candidate,
                                             std::vector<Importance::Entry>& buffer);

// The best candidates by kube-scheduler's criteria: fewest violations; lowest priority of the most important
// victim; smallest sum of priorities; fewest victims; latest start of the victim that started first among
// those of the highest priority.
RowSet BestCandidates(const std::vector<Candidate>& candidates);

}  // namespace berth::plugins
