// Nodes that preemption could free, and which of them is the best.
#pragma once

#include <cstdint>
#include <vector>

#include "base/row_set.hpp"
#include "scheduler/plugins/default_preemption/importance.hpp"

namespace berth::plugins {

struct Candidate {
  cluster::Row row = cluster::kNoRow;
  std::vector<Importance::Entry> victims;  // the most important first; never empty
  std::int64_t violations = 0;             // victims whose disruption budget is exhausted
};

// The candidates that kube-scheduler's rules leave as equal best: fewest violations; the most important
// victim of the lowest priority; the smallest sum of priorities; fewest victims; of the most important
// victims, the one that started first did so latest.
RowSet EqualBest(const std::vector<Candidate>& candidates);

}  // namespace berth::plugins
