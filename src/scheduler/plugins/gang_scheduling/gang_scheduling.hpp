// All or nothing for pods of a pod group with gang policy (kube-scheduler v1.37.1,
// pkg/scheduler/framework/plugins/gangscheduling; feature gate GenericWorkload, off by default).
#pragma once

#include <cstdint>

#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/gang_scheduling/waiting_members.hpp"

namespace berth::plugins {

// Whether `wanted` members can be scheduled, as PlacementFeasible returns it.
framework::Status MinCountStatus(std::int32_t wanted, const framework::PlacementProgress& progress);

// PreEnqueue gates a member until its group and at least minCount members exist. In the cycle of a group,
// PlacementFeasible stops the search when minCount cannot be reached any more. Permit holds placed members
// until minCount members are placed. Pods without a group, and members of groups of other projects, pass.
class GangScheduling final : public framework::PreEnqueuePlugin,
                             public framework::PermitPlugin,
                             public framework::PlacementFeasiblePlugin {
 public:
  explicit GangScheduling(framework::Handle& handle) : handle_(handle), groups_(handle.groups) {}

  std::string_view Name() const override { return "GangScheduling"; }
  framework::Status PreEnqueue(const cluster::PodInfo& pod) const override;
  framework::Status PlacementFeasible(const api::PodGroup& group,
                                      const framework::PlacementProgress& progress) const override;
  framework::PermitResult Permit(const framework::Placement& placement) override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  framework::Handle& handle_;
  const cluster::PodGroups& groups_;
  WaitingMembers waiting_{handle_};
};

}  // namespace berth::plugins
