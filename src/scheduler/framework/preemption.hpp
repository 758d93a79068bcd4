// What preemption finds, and who may have a say in it before pods are evicted.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/framework/status.hpp"

namespace berth::framework {

// A node on which the pod would fit without these pods.
struct PreemptionCandidate {
  cluster::Row row = cluster::kNoRow;
  std::vector<cluster::PlacedPod*> victims;  // the most important first; never empty
  std::int64_t violations = 0;      // victims whose disruption budget is exhausted
};

// Asked one after the other about the candidates, before one of them is chosen: the place of extenders that
// support preemption.
class PreemptionReviewer {
 public:
  virtual ~PreemptionReviewer() = default;
  // Takes candidates away, or takes other victims. Anything but Success ends the preemption.
  virtual Status Review(const cluster::PodInfo& pod, std::vector<PreemptionCandidate>& candidates) = 0;
};

}  // namespace berth::framework
