// All or nothing for pods of a pod group with gang policy, and of trees of composite groups (kube-scheduler
// v1.37.1, pkg/scheduler/framework/plugins/gangscheduling; feature gates GenericWorkload and
// CompositePodGroup, off by default).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/gang_scheduling/waiting_members.hpp"

namespace berth::plugins {

// Whether `wanted` members can be scheduled, as PlacementFeasible returns it.
framework::Status MinCountStatus(std::int32_t wanted, const framework::PlacementProgress& progress);

// PreEnqueue gates a member until its group and at least minCount members exist. In the cycle of a group,
// PlacementFeasible stops the search when minCount cannot be reached any more. Permit holds placed members
// until minCount members are placed. In a tree of composite groups, enough groups must have enough members
// instead: a composite group is ready if minGroupCount of its children are. Pods without a group, and members
// of groups of other projects, pass.
class GangScheduling final : public framework::PreEnqueuePlugin,
                             public framework::PermitPlugin,
                             public framework::PlacementFeasiblePlugin {
 public:
  explicit GangScheduling(framework::Handle& handle);

  std::string_view Name() const override { return "GangScheduling"; }
  bool StateIsDerived() const override { return true; }
  framework::Status PreEnqueue(const cluster::PodInfo& pod) const override;
  framework::Status PlacementFeasible(const api::PodGroup& group,
                                      const framework::PlacementProgress& progress) const override;
  framework::PermitResult Permit(const framework::Placement& placement) override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  // Which members of a group count.
  enum class Counted : std::uint8_t { kAll, kScheduled };
  static std::size_t CountIn(const cluster::PodGroups::Group& group, Counted counted);
  framework::Status PreEnqueueInTrees(const std::string& key) const;
  framework::PermitResult PermitInTree(const std::string& key, const std::string& root,
                                       const std::string& uid);
  // The root of the tree of a composite group, or why kube-scheduler finds none.
  Expected<std::string> RootAbove(const std::string& composite) const;
  // Whether enough groups of the tree have enough members. The last answer is kept until groups change.
  bool IsReady(const std::string& root, Counted counted) const;
  bool IsGroupReady(const std::string& key, Counted counted, std::size_t level) const;
  bool AreInOneTree(const cluster::PodInfo& waiting, const std::string& key) const;

  framework::Handle& handle_;
  const cluster::PodGroups& groups_;
  const bool in_trees_;  // the feature gate CompositePodGroup
  struct Answer {
    std::string root;
    Counted counted{};
    std::uint64_t version = 0;
    bool ready = false;
  };
  mutable Answer last_;
  // All profiles, also those of before a reload, have the same members that wait.
  struct Shared {
    std::optional<WaitingMembers> waiting;
  };
  const std::shared_ptr<Shared> shared_;
  WaitingMembers& waiting_;
};

}  // namespace berth::plugins
