// All or nothing for pods of a pod group with gang policy (kube-scheduler v1.37.1,
// pkg/scheduler/framework/plugins/gangscheduling; feature gate GenericWorkload, off by default).
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "base/text_map.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::plugins {

// PreEnqueue gates a member until its group and at least minCount members exist. In the cycle of a group,
// PlacementFeasible stops the search when minCount cannot be reached any more. Permit holds placed members
// until minCount members are placed. Pods without a group pass.
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
  void KeepWaiting(const std::string& key, const cluster::PodGroups::Group& group, const std::string& uid);
  void AllowWaiting(const std::string& key);

  framework::Handle& handle_;
  const cluster::PodGroups& groups_;
  // By group: UIDs of members that have waited in Permit since waiting members were last allowed. Some may
  // have stopped waiting, or may be deleted: at most as many as twice the members of the group.
  TextMap<std::set<std::string>> waiting_;
  std::size_t purge_at_ = 64;  // the size at which entries of groups that do not exist any more are removed
};

}  // namespace berth::plugins
