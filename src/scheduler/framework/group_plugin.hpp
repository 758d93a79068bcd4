// Extension points of pod groups (kube-scheduler v1.37.1 with the feature gate GenericWorkload). The rules of
// plugin.hpp apply.
#pragma once

#include <cstddef>

#include "kubernetes/api/pod_group.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::framework {

// How far the search for nodes of a pod group has come.
struct PlacementProgress {
  std::size_t remaining = 0;  // members that have not been tried in this cycle
  std::size_t scheduled = 0;  // members that have a node, from this cycle and from earlier ones
};
// Called in the cycle of a pod group, before the first member and after each one. Success: the group can be
// scheduled; it must stay so for the remaining members. Wait: it can be, if more members find a node.
// Unschedulable: it cannot be; the search ends. Any other status fails the cycle.
class PlacementFeasiblePlugin : public virtual Plugin {
 public:
  virtual Status PlacementFeasible(const api::PodGroup& group, const PlacementProgress& progress) const = 0;
};

}  // namespace berth::framework
