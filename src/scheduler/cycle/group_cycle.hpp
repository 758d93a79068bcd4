// The decision about a pod group: one decision per member, each with the earlier members on their nodes; with
// the feature gate TopologyAwareWorkloadScheduling in each placement; and preemption if the group cannot be
// scheduled. A tree of composite groups is decided recursively: one group after the other, within the
// placements of those above it (kube-scheduler v1.37.1, podGroupCycle in
// pkg/scheduler/schedule_one_podgroup.go).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/seeded_hash.hpp"
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
#include "scheduler/runtime/profile_list.hpp"

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

// What was found for one group of a tree, before PodGroupPostFilter.
struct TreeGroupResult {
  const cluster::GroupTree* group = nullptr;  // in the queue's entry
  std::size_t level = 1;                      // that of the root
  bool decided = false;
  framework::Status status;  // of this group, whatever those above it do; Success if it was not decided
  // Of a pod group that could be scheduled while one above it could not: its members with the nodes that
  // they found. Otherwise empty, and the members are those of the leaf.
  std::vector<MemberResult> unused = {};
};

struct LeafResult;
struct GroupResult {
  GroupResult() = default;
  GroupResult(GroupResult&&) = default;
  GroupResult& operator=(GroupResult&&) = default;

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
  // Of a tree, which has no members of its own: the results of its pod groups, in the order in which they are
  // scheduled. Those of a group that was not decided, or that found nodes while a group above it could not be
  // scheduled, have the status of that group, and their members were not tried.
  std::vector<LeafResult> leaves;
  std::vector<TreeGroupResult> tree_groups;  // of a tree: the root first, each before those below it
};
// A pod group in a tree of composite groups.
struct LeafResult {
  framework::QueuedGroup group;  // with those of the entry's members that are in it, possibly none
  GroupResult result;
};

// The part of the result that is recorded. To be called before the result is applied. `preemption`: that of
// the queue's entry, which for a group in a tree is the tree.
record::GroupRecord RecordOf(const framework::QueuedGroup& group, const GroupResult& result,
                             const std::optional<EvictionPlan>& preemption);

// The part for all groups of a tree, `result` being that of the tree, before it is applied.
record::GroupTreeRecord RecordOfTree(const GroupResult& result);

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
    const runtime::ProfileList& profiles;
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
  class Assumed;
  class PostFilterRun;
  struct Candidate;
  struct TreeResult;
  struct TreeSearch;
  struct SharedStatus;

  const runtime::Profile& ProfileOf(const framework::QueuedGroup& group) const {
    return *parts_.profiles[group.leading_pod().profile];
  }
  // The decision without preemption.
  GroupResult Search(const framework::QueuedGroup& group);
  // The same for a group and these nodes. If the group can be scheduled, its placed members stay in
  // `assumed`, which must not outlive the result.
  GroupResult SearchGroup(const framework::QueuedGroup& group, const RowSet& rows,
                          algorithm::RecordedScores recorded, Assumed& assumed);
  GroupResult SearchPlacements(const framework::QueuedGroup& group, const RowSet& rows,
                               algorithm::RecordedScores recorded, Assumed& assumed);
  static std::vector<const cluster::PodInfo*> PlacedMembers(const GroupResult& result);
  // The candidate to take, or why none can be.
  Expected<const Candidate*> ChooseBest(const api::PodGroup& group, const std::vector<Candidate>& candidates,
                                        const runtime::Profile& profile);
  // Calls search(rows) in the state in which the candidate was found.
  template <class Run>
  auto SearchAgain(const Candidate& candidate, Run&& search);
  GroupResult SearchWithin(const framework::QueuedGroup& group, const RowSet& rows,
                           algorithm::RecordedScores recorded, Assumed& assumed);
  void DecideMembers(const framework::QueuedGroup& group, const RowSet& rows,
                     algorithm::RecordedScores recorded, Assumed& assumed, GroupResult& result);
  void DecideMember(MemberResult& member, const RowSet& rows, algorithm::RecordedScores recorded);
  static void OnNotReserved(MemberResult& member);

  // --- trees (group_tree_cycle.cpp) ---
  GroupResult DecideTree(const framework::QueuedGroup& group);
  // Each pod group of the tree with its members of the entry, by key.
  using TreeLeaves = std::map<std::string, framework::QueuedGroup>;
  TreeLeaves LeavesOf(const framework::QueuedGroup& group) const;
  TreeResult SearchTree(const framework::QueuedGroup& group, const TreeLeaves& leaves);
  // As SearchGroup, for a group of the tree.
  TreeResult SearchNode(const cluster::GroupTree& node, const TreeSearch& search, const RowSet& rows,
                        algorithm::RecordedScores recorded);
  TreeResult SearchComposite(const cluster::GroupTree& node, const TreeSearch& search, const RowSet& rows,
                             algorithm::RecordedScores recorded);
  TreeResult SearchChildren(const cluster::GroupTree& node, const TreeSearch& search, const RowSet& rows,
                            algorithm::RecordedScores recorded);
  static void AddPlacedMembers(const TreeResult& node, std::vector<const cluster::PodInfo*>& members);
  void AddLeaves(const cluster::GroupTree& node, std::size_t level, TreeResult* result,
                 const std::shared_ptr<SharedStatus>& parent, const TreeLeaves& leaves, GroupResult& all,
                 std::vector<std::shared_ptr<SharedStatus>>& statuses) const;
  void RunTreePostFilters(const framework::QueuedGroup& group, GroupResult& result,
                          std::span<const std::shared_ptr<SharedStatus>> statuses);

  // --- preemption ---
  struct PostFiltersResult {
    framework::GroupPostFilterResult result;
    bool abandoned = false;
    std::vector<std::string_view> rejectors = {};  // plugins that protected pods
  };
  PostFiltersResult CallPostFilters(const framework::QueuedGroup& group,
                                    std::vector<framework::GroupPostFilterServices::Tried> tried);
  static void AddRejectors(std::span<const std::string_view> plugins, std::span<MemberResult> members);
  static void AddTried(std::span<MemberResult> members,
                       std::vector<framework::GroupPostFilterServices::Tried>& tried);
  static std::optional<EvictionPlan> PlanOf(framework::GroupPostFilterResult& answer);
  // Members by the UIDs of their pods, to which the keys refer.
  using MembersByUid =
      boost::unordered_flat_map<std::string_view, MemberResult*, SeededHash, std::equal_to<>>;
  static void AddTo(MembersByUid& by_uid, std::span<MemberResult> members);
  static void Nominate(const framework::QueuedGroup& group, const MembersByUid& members,
                       std::span<const framework::GroupPostFilterResult::Nomination> nominations);
  static bool MayEvict(const framework::QueuedGroup& group, const GroupResult& result);
  void RunPostFilters(const framework::QueuedGroup& group, GroupResult& result);

  const Parts parts_;
  const bool by_placement_;
  const bool group_has_policy_;
};

}  // namespace berth::cycle
