// Groups of pods that are scheduled together (scheduling.k8s.io/v1beta1 of Kubernetes 1.37). meta.hpp
// describes the conventions for all objects.
#pragma once

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
  // schedulingPolicy.gang.minCount. nullopt: another policy, so that every member may start alone.
  struct Gang {
    std::int32_t min_count = 0;
    friend bool operator==(const Gang&, const Gang&) = default;
  };
  ObjectMeta metadata;
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

  // The number of members that must be scheduled for the others to be bound.
  std::int32_t min_count() const { return gang ? gang->min_count : 1; }
};
using PodGroupPtr = std::shared_ptr<const PodGroup>;

}  // namespace berth::api
