// The decision about a pod group: one decision per member, each with the earlier members on their nodes; with
// the feature gate TopologyAwareWorkloadScheduling in each placement; and preemption if the group cannot be
// scheduled (kube-scheduler v1.37.1, podGroupCycle in pkg/scheduler/schedule_one_podgroup.go).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "scheduler/algorithm/current_view.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/cycle/current_nominations.hpp"
#include "scheduler/cycle/cycle_metrics.hpp"
#include "scheduler/cycle/eviction_plan.hpp"
#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/queue/nominator.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::cycle {

// The result for one member.
struct MemberResult {
  framework::QueuedPodPtr pod;
  algorithm::ScheduleResult decision;  // without a record if the member was not tried
  // Success: decision.row is its node. A rejection or an error: the complete text. If the member was not
  // tried, the status of the group before PodGroupPostFilter.
  framework::Status status;
  Duration took{};

  bool tried() const { return decision.record != nullptr; }
  bool placed() const { return tried() && status.ok(); }
};

struct GroupResult {
  // Success: the members with a node are bound, the others are rejected. Unschedulable: all are rejected. Any
  // other code is an error for all members that have none of their own.
  framework::Status status;
  std::vector<MemberResult> members;  // all of them, in the group's order
  std::size_t scheduled_before = 0;   // members that had a node at the beginning
  // With placements: those in which the members were tried, and the chosen one.
  std::optional<record::GroupRecord::Placement> placement;
  bool any_placed = false;                 // at least one member found a node
  framework::Code searched{};              // the status before PodGroupPostFilter
  Duration took{};                         // until then
  bool waits_for_evictions = false;        // Unschedulable, but nominated members will fit after evictions
  std::optional<EvictionPlan> preemption;  // the evictions to start; none if they are under way already
  bool abandoned = false;                  // the wait for an extender was cancelled; there is no result
};

// The part of the result that is recorded. To be called before the result is applied.
record::GroupRecord RecordOf(const framework::QueuedGroup& group, const GroupResult& result);

// While a group is decided, its placed members are assumed in the cluster and reserved, and possible victims
// may be withdrawn from the node table; before Decide returns, all of that is reverted. Scheduler loop only;
// the parts must outlive this object.
class GroupCycle {
 public:
  struct Parts {
    algorithm::SchedulingAlgorithm& algorithm;
    algorithm::CurrentView& view;
    cluster::ClusterState& cluster;
    const cluster::PodGroups& groups;
    queue::Nominator& nominator;
    CurrentNominations& nominations;
    std::span<const std::unique_ptr<runtime::Profile>> profiles;
    const config::FeatureGates& gates;
    const Clock& clock;
    CycleMetrics& metrics;
  };
  explicit GroupCycle(const Parts& parts)
      : parts_(parts),
        by_placement_(parts.gates.Enabled("TopologyAwareWorkloadScheduling")),
        group_has_policy_(parts.gates.Enabled("PodGroupPreemptionPolicy")) {}

  // The reason why the members do not belong together; nullopt: they do.
  std::optional<std::string> Invalid(const framework::QueuedGroup& group) const;
  // Every member must be neither deleted nor assumed. Blocks while extenders respond.
  GroupResult Decide(const framework::QueuedGroup& group);

 private:
  class Placed;
  class PostFilterRun;

  const runtime::Profile& ProfileOf(const framework::QueuedGroup& group) const {
    return *parts_.profiles[group.leading_pod().profile];
  }
  // The decision without preemption.
  GroupResult Search(const framework::QueuedGroup& group);
  GroupResult SearchPlacements(const framework::QueuedGroup& group);
  struct Candidate;
  static std::vector<const cluster::PodInfo*> PlacedMembers(const GroupResult& result);
  GroupResult ChooseBest(const framework::QueuedGroup& group, std::vector<Candidate> candidates);
  GroupResult SearchAgain(const framework::QueuedGroup& group, const Candidate& candidate);
  GroupResult SearchWithin(const framework::QueuedGroup& group, const RowSet& rows,
                           algorithm::RecordedScores recorded);
  void DecideMembers(const framework::QueuedGroup& group, const RowSet& rows,
                     algorithm::RecordedScores recorded, GroupResult& result);
  void DecideMember(MemberResult& member, const RowSet& rows, algorithm::RecordedScores recorded);
  static void OnNotReserved(MemberResult& member);
  static bool MayEvict(const framework::QueuedGroup& group, const GroupResult& result);
  void RunPostFilters(const framework::QueuedGroup& group, GroupResult& result);

  const Parts parts_;
  const bool by_placement_;
  const bool group_has_policy_;
};

}  // namespace berth::cycle
