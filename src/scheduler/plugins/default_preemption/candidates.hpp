// Preemption candidates and their comparison.
#pragma once

#include <cstdint>
#include <vector>

#include "base/row_set.hpp"
#include "scheduler/plugins/default_preemption/importance.hpp"

namespace berth::plugins {

struct Candidate {
  cluster::Row row = cluster::kNoRow;
  std::vector<Importance::Entry> victims;  // by descending importance; never empty
  std::int64_t violations = 0;             // victims whose eviction violates a PodDisruptionBudget
};

// The best candidates by kube-scheduler's criteria: fewest violations; lowest priority of the most important
// victim; smallest sum of priorities; fewest victims; latest start of the victim that started first among
// those of the highest priority.
RowSet BestCandidates(const std::vector<Candidate>& candidates);

}  // namespace berth::plugins
