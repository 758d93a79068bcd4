// Preemption candidates, and reviewers that may change them before pods are evicted.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/framework/status.hpp"

namespace berth::framework {

// A node on which the pod would fit if these pods were evicted.
struct PreemptionCandidate {
  cluster::Row row = cluster::kNoRow;
  std::vector<cluster::PlacedPod*> victims;  // by descending importance; never empty
  std::int64_t violations = 0;               // victims whose eviction violates a PodDisruptionBudget
};

// Called before a candidate is selected, one reviewer after the other. Implemented by extenders that support
// preemption.
class PreemptionReviewer {
 public:
  virtual ~PreemptionReviewer() = default;
  // Removes candidates or replaces their victims. Any status other than Success ends the preemption.
  virtual Status Review(const cluster::PodInfo& pod, std::vector<PreemptionCandidate>& candidates) = 0;
};

}  // namespace berth::framework
