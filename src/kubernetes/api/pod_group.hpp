// Groups of pods that are scheduled together: PodGroups of scheduling.k8s.io/v1beta1 (Kubernetes 1.37), and
// in the same form CompositePodGroups of v1alpha3 and groups of other projects (external_groups.hpp).
// meta.hpp describes the conventions for all objects.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kubernetes/api/meta.hpp"
#include "kubernetes/api/pod.hpp"

namespace berth::api {

struct PodGroupCondition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  std::int64_t observed_generation = 0;
  friend bool operator==(const PodGroupCondition&, const PodGroupCondition&) = default;
};

struct PodGroup {
  static constexpr std::string_view kKind = "PodGroup";
  static constexpr bool kNamespaced = true;
  // schedulingPolicy.gang.minCount, of a composite group minGroupCount. nullopt: another policy, so that
  // every member may start alone.
  struct Gang {
    std::int32_t min_count = 0;
    friend bool operator==(const Gang&, const Gang&) = default;
  };
  // What only groups of other projects have.
  struct External {
    // "task" of Volcano: at least this many members of a task must be scheduled.
    struct TaskMinimum {
      std::string task;
      std::int32_t min_count = 0;
      friend bool operator==(const TaskMinimum&, const TaskMinimum&) = default;
    };
    std::vector<TaskMinimum> task_minimums = {};
    ResourceList min_resources = {};  // the nodes must have that much free before a member is tried
    std::optional<std::chrono::seconds> permit_timeout = {};
    std::string invalid = {};  // why no member may be scheduled, with the field; empty: the group is valid
    friend bool operator==(const External&, const External&) = default;
  };

  // The name of a group of another project is qualified: "podgroups.scheduling.x-k8s.io/training".
  ObjectMeta metadata;
  std::string creation_timestamp;  // RFC 3339 in UTC
  bool composite = false;          // a CompositePodGroup: its members are groups
  std::optional<Gang> gang;
  std::int32_t priority = 0;
  std::string preemption_policy;     // empty: PreemptLowerPriority
  bool disrupted_as_a_unit = false;  // disruptionMode.all: preemption evicts all members or none
  std::string topology_key;          // schedulingConstraints.topology[0].key; empty: no constraint
  std::string parent;                // parentCompositePodGroupName; empty: none
  // spec.resourceClaims: a claim of a member that equals one of these belongs to the group (feature gate
  // DRAWorkloadResourceClaims).
  std::vector<PodResourceClaim> resource_claims;
  std::vector<PodGroupCondition> conditions;
  std::vector<PodResourceClaimStatus> resource_claim_statuses;  // the claims created from templates
  // Null: an object of scheduling.k8s.io. Otherwise the members may differ in priority and preemption policy,
  // the group has the priority of its most important waiting member, and its status is not written.
  std::shared_ptr<const External> external;

  // The number of members that must be scheduled for the others to be bound.
  std::int32_t min_count() const { return gang ? gang->min_count : 1; }
};
using PodGroupPtr = std::shared_ptr<const PodGroup>;

// A group of pod groups and composite groups, which name it as their parent (scheduling.k8s.io/v1alpha3). It
// has neither claims nor a condition.
struct CompositePodGroup : PodGroup {
  static constexpr std::string_view kKind = "CompositePodGroup";
  CompositePodGroup() { composite = true; }
};
using CompositePodGroupPtr = std::shared_ptr<const CompositePodGroup>;

}  // namespace berth::api
