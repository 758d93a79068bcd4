// Extension points of pod groups (kube-scheduler v1.37.1 with the feature gate GenericWorkload). The rules of
// plugin.hpp apply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/row_set.hpp"
#include "kubernetes/api/pod_group.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/queued_pod.hpp"

namespace berth::framework {

// How far the search for nodes of a pod group has come.
struct PlacementProgress {
  std::size_t remaining = 0;  // members that have not been tried in this cycle
  std::size_t scheduled = 0;  // members that have a node, from this cycle and from earlier ones
  std::span<const api::Pod* const> placed = {};  // those from this cycle; valid during the call
  bool begun = false;                            // a member was tried in this cycle
};
// Called in the cycle of a pod group, before the first member and after each one. Success: the group can be
// scheduled; it must stay so for the remaining members. Wait: it can be, if more members find a node.
// Unschedulable: it cannot be; the search ends. Any other status fails the cycle.
class PlacementFeasiblePlugin : public virtual Plugin {
 public:
  virtual Status PlacementFeasible(const api::PodGroup& group, const PlacementProgress& progress) const = 0;
};

// Nodes on which all members of a group must be placed.
struct GroupPlacement {
  std::string name;
  RowSet rows;
};
struct GeneratedPlacements {
  Status status;
  std::vector<GroupPlacement> placements = {};  // in the order in which they are tried
};
// With the feature gate TopologyAwareWorkloadScheduling: called once per cycle of a group, before its members
// are tried in each of the placements. Only the first plugin of a profile is called.
class PlacementGeneratePlugin : public virtual Plugin {
 public:
  // Subsets of `among`; they may overlap. Any status other than Success is that of the group.
  virtual GeneratedPlacements GeneratePlacements(const api::PodGroup& group, const cluster::NodeTable& nodes,
                                                 const RowSet& among) const = 0;
};

// A placement in which the group can be scheduled.
struct FeasiblePlacement {
  const GroupPlacement* placement = nullptr;
  std::vector<const cluster::PodInfo*> members;  // that found a node; none is on it in the node table
};
// Compares placements in which the group can be scheduled; higher is better. Called if there are several.
class PlacementScorePlugin : public virtual Plugin {
 public:
  virtual Expected<std::int64_t> ScorePlacement(const api::PodGroup& group, const cluster::NodeTable& nodes,
                                                const FeasiblePlacement& placement) const = 0;
  // Maps the scores of all placements to the range from 0 to kMaxScore.
  virtual Status NormalizePlacementScores(std::span<std::int64_t> /*scores*/) const { return {}; }
};

// Operations that PodGroupPostFilter plugins use to test changes of the cluster.
class GroupPostFilterServices {
 public:
  struct Tried {
    const QueuedPod* member = nullptr;
    CycleState* state = nullptr;  // what the plugins stored about it
  };
  struct Found {
    const QueuedPod* member = nullptr;
    cluster::Row row = cluster::kNoRow;
  };

  virtual ~GroupPostFilterServices() = default;
  // The members that were tried in the cycle, in the order of the group.
  virtual std::span<const Tried> tried() const = 0;
  // The table of the cycle, for withdrawals (NodeTable::Withdrawal).
  virtual cluster::NodeTable& table() = 0;
  // Decides the group again, against the current state of the table. The status is that of the group.
  virtual Status Decide() = 0;
  // The members for which the last Decide found a node, in the order of the group. Valid until the next one.
  virtual std::span<const Found> found() const = 0;
  struct Added {
    cluster::Row row = cluster::kNoRow;
    const cluster::PlacedPod* pod = nullptr;
  };
  // Whether each of these members, with those before it on their nodes, still passes the filters on its node,
  // after these pods were added to the table. If not (Unschedulable), the caller must remove the pods again.
  virtual Status StillFit(std::span<const Added> added) = 0;
  // The plugins of the profile that protect pods from preemption.
  virtual EvictionProtections& protections() = 0;
};

// Whether the group can fit after evictions, and where.
struct GroupPostFilterResult {
  struct Nomination {
    std::string uid;   // of a member
    std::string node;  // empty: clear the nomination
  };
  struct Eviction {
    std::vector<api::PodPtr> victims;  // may be empty; the scheduler evicts the last one after all others
    std::int64_t violations = 0;       // victims whose eviction violates a PodDisruptionBudget
    std::size_t disrupted_groups = 0;  // victims of pod groups; those that are evicted as a unit count once
  };
  Status status;
  // Used if the status is Success: the members then wait for the evictions. Nominations of other members are
  // unchanged.
  std::vector<Nomination> nominations = {};
  std::optional<Eviction> eviction = {};
};
// Called when a pod group cannot be scheduled. Success, UnschedulableAndUnresolvable and Error end
// PodGroupPostFilter; after Unschedulable the next plugin is called. No member is placed in this cycle,
// whatever the status.
class PodGroupPostFilterPlugin : public virtual Plugin {
 public:
  virtual GroupPostFilterResult PodGroupPostFilter(const QueuedGroup& group,
                                                   GroupPostFilterServices& services) = 0;
};

}  // namespace berth::framework
