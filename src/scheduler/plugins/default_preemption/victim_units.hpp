// The units that preemption evicts when there are pod groups (kube-scheduler v1.37.1,
// pkg/scheduler/framework/preemption/types.go; feature gate GenericWorkload).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/api/cow_ptr.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/plugins/default_preemption/disruption_budgets.hpp"

namespace berth::plugins {

// A pod, or all scheduled members of a group whose disruption mode is `all`; of several such groups in a tree
// the highest one counts.
struct VictimUnit {
  struct Victim {
    cluster::Row row = cluster::kNoRow;
    cluster::PlacedPod* pod = nullptr;
    std::size_t withdrawn = 0;  // its index in a withdrawal, while there is one
  };
  // Units of composite groups come before those of groups, which include single members.
  enum class Rank : std::uint8_t { kPod, kGroup, kComposite };
  std::int32_t priority = 0;  // of members of a group: that of the root of its tree
  Rank rank = Rank::kPod;
  std::int64_t started = 0;  // Unix seconds, the earliest; pods that have not started sort after all others
  // Not empty; by namespace and name. Copies of the unit share the list.
  api::CowList<Victim> pods;
  std::int64_t violations = 0;  // pods whose eviction violates a PodDisruptionBudget, see SortForReprieve
};
// By descending priority; by descending rank; larger units first; earlier ones first. Then
// by namespace and name of the first pod, where kube-scheduler's order is undefined.
bool MoreImportant(const VictimUnit& a, const VictimUnit& b);
// Sorts the units into the order in which preemption spares them: first those whose eviction violates a
// budget, each part by descending importance. A unit is atomic: it violates a budget if the eviction of any
// of its pods does.
void SortForReprieve(std::vector<VictimUnit>& units, DisruptionBudgets& budgets);

// Scheduler loop only.
class VictimUnits {
 public:
  // All must outlive this object.
  VictimUnits(const cluster::NodeTable& nodes, const cluster::PodGroups& groups)
      : nodes_(nodes), groups_(groups) {}

  // Whether a pod below this priority on the row is terminating because of a preemption.
  bool AnyBeingPreempted(cluster::Row row, std::int32_t priority) const;
  // All units below this priority, in no particular order.
  std::vector<VictimUnit> Below(std::int32_t priority) const;
  // The units of a group that is disrupted as a whole cannot be determined while one of its members is on a
  // node that does not exist (any more). These methods return that error: of any group with a member on an
  // existing node, or of the groups with a member on the row. nullopt: none. The second method returns for
  // each group what was found at its first call since Begin.
  std::optional<std::string> MissingNode() const;
  std::optional<std::string> MissingNodeOf(cluster::Row row);
  // Whether a member of a group is on this row.
  bool AnyMemberOn(cluster::Row row) const;
  // The units below this priority with a pod on the row, in no particular order. Their pods on other rows are
  // those at the first call since Begin. Must not be called first while overlays exist.
  std::vector<VictimUnit> BelowOn(cluster::Row row, std::int32_t priority);
  void Begin() {
    whole_groups_.reset();
    missing_nodes_.clear();
  }

 private:
  // What a pod's groups determine.
  struct Membership {
    bool in_group = false;
    std::int32_t priority = 0;  // the pod's own without a known group
    std::string whole;          // the highest group that is disrupted as a whole; empty: none
    VictimUnit::Rank rank = VictimUnit::Rank::kPod;  // of the unit
  };
  Membership MembershipOf(const api::Pod& pod) const;
  // Of a member of this group with this priority.
  Membership MembershipIn(const std::string& group, std::int32_t priority) const;
  // The error of the unit of this group: the first member on a node that does not exist.
  std::optional<std::string> MissingNodeIn(const std::string& whole) const;
  bool AnyOnExistingNode(const std::string& whole) const;
  bool IsOnExistingNode(const cluster::PodGroups::Member& member) const;
  using ByGroup = TextMap<VictimUnit>;  // by the key of the group
  const ByGroup& WholeGroups();
  // Calls visit(Row, PlacedPod&, const Membership&).
  template <class Visit>
  void ForEachPod(Visit&& visit) const;

  const cluster::NodeTable& nodes_;
  const cluster::PodGroups& groups_;
  std::optional<ByGroup> whole_groups_;  // the groups that are disrupted as a whole; nullopt: not determined
  TextMap<std::optional<std::string>> missing_nodes_;  // MissingNodeIn, by group
};

}  // namespace berth::plugins
