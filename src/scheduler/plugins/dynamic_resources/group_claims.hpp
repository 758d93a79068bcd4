// The claims of pod groups (kube-scheduler v1.37.1 with the feature gate DRAWorkloadResourceClaims): a claim
// of a member that its PodGroup declares, too, is created for and reserved for the group.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::plugins {

// Whether the claim was created for the pod's group. Pods do not contain the UID of their group.
bool IsOwnedByGroupOf(const api::ResourceClaim& claim, const api::Pod& pod);

// The entry of status.reservedFor for a claim that only the pod uses.
api::ResourceClaim::Consumer ConsumerOf(const api::Pod& pod);
// The entry for a claim of a member of the group. Errors have kube-scheduler's texts.
Expected<api::ResourceClaim::Consumer> ConsumerOf(const api::Pod& pod, const api::PodGroup& group,
                                                  const api::PodResourceClaim& claim);

// The name of a claim of the group.
struct GroupClaimName {
  std::optional<std::string> name;  // nullopt: the group's template needed no claim
  bool from_template = false;       // the claim must be owned by the group
};
// Errors have kube-scheduler's texts.
Expected<GroupClaimName> NameOf(const api::PodGroup& group, const api::PodResourceClaim& claim);

}  // namespace berth::plugins
