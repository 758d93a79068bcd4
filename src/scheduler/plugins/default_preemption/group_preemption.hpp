// Preemption by pod groups (kube-scheduler v1.37.1,
// pkg/scheduler/framework/preemption/podgrouppreemption.go).
#pragma once

#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/default_preemption/disruption_budgets.hpp"
#include "scheduler/plugins/default_preemption/victim_units.hpp"

namespace berth::plugins {

// Removes all units of lower priority from the cluster, except those that plugins protect. If the group can
// be scheduled then, adds them back one by one as long as its members still fit on the nodes that were found:
// first those whose eviction violates a budget, then the others, each by descending importance. The rest are
// the victims. Scheduler loop only.
class GroupPreemption {
 public:
  // All must outlive this object.
  GroupPreemption(framework::Handle& handle, DisruptionBudgets& budgets, const VictimUnits& units);

  framework::GroupPostFilterResult Run(const framework::QueuedGroup& group,
                                       framework::GroupPostFilterServices& services);

 private:
  bool NeverPreempts(const framework::QueuedGroup& group) const;
  framework::GroupPostFilterResult SelectVictims(const framework::QueuedGroup& group,
                                                 framework::GroupPostFilterServices& services);
  // Whether a pod of lower priority on a node to which a member is nominated is being preempted.
  bool IsOngoing(const framework::QueuedGroup& group) const;

  framework::Handle& handle_;
  DisruptionBudgets& budgets_;
  const VictimUnits& units_;
  const bool group_has_policy_;  // the feature gate PodGroupPreemptionPolicy
};

}  // namespace berth::plugins
