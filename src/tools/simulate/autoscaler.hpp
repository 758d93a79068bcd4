// A simple policy for the number of nodes of groups with autoscaling.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/simulate/node_fleet.hpp"

namespace berth::simulate {

// Every ten seconds:
// - Scale-out: each pod that is unschedulable belongs to the first group on whose empty nodes it would fit by
//   resources, node selector, required node affinity and taints. A group gets as many nodes as its pods need
//   if each kind fills nodes of its own, fractions added up and rounded up, minus the nodes that are on their
//   way or have no pods; at least its minimum and at most its maximum. A node is ready after the group's
//   `provision` time.
// - Scale-in: a node that has been without pods for the group's `idle` time is removed, down to the minimum.
// One thread; the arguments must outlive it.
class Autoscaler {
 public:
  Autoscaler(const Workload& workload, simulation::VirtualCluster& cluster, const Meter& meter,
             NodeFleet& fleet, Result& result);

  // Starts the policy; without a group that it applies to, it does nothing. `kind_of`: the kind of a pod by
  // UID; nullopt if the pod no longer exists.
  using KindOf = std::function<std::optional<std::uint32_t>(const std::string& uid)>;
  void Start(KindOf kind_of);

 private:
  void Step();
  void ScaleOut();
  void ScaleIn();
  // Pods of the kind that fit on an empty node of the group.
  std::int64_t Capacity(std::size_t group, std::uint32_t kind) const;

  const Workload& workload_;
  simulation::VirtualCluster& cluster_;
  const Meter& meter_;
  NodeFleet& fleet_;
  Result& result_;
  KindOf kind_of_;
  std::vector<std::vector<std::int64_t>> capacity_;  // by group and kind
  std::vector<std::size_t> on_their_way_;            // by group
};

}  // namespace berth::simulate
