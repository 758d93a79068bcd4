#include "scheduler/plugins/dynamic_resources/group_claims.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/plugins/dynamic_resources/pod_claims.hpp"

namespace berth::plugins {

bool IsOwnedByGroupOf(const api::ResourceClaim& claim, const api::Pod& pod) {
  if (!pod.spec.pod_group || !claim.metadata.controller) return false;
  const api::OwnerReference& controller = *claim.metadata.controller;
  // Any version of the API.
  return controller.name == *pod.spec.pod_group && controller.kind == api::PodGroup::kKind &&
         controller.api_version.starts_with(std::string(kGroupsApi) + "/");
}

api::ResourceClaim::Consumer ConsumerOf(const api::Pod& pod) {
  return {"", "pods", pod.metadata.name, pod.metadata.uid};
}

Expected<api::ResourceClaim::Consumer> ConsumerOf(const api::Pod& pod, const api::PodGroup& group,
                                                  const api::PodResourceClaim& claim) {
  for (const api::PodResourceClaim& of_group : group.resource_claims) {
    if (!of_group.resource_claim_name && !of_group.resource_claim_template_name) {
      return Invalid(fmt::format("PodGroup {} claim {}: none of the supported fields are set",
                                 group.metadata.Key(), of_group.name));
    }
    if (of_group == claim) {
      return api::ResourceClaim::Consumer{std::string(kGroupsApi), std::string(kGroupsResource),
                                          group.metadata.name, group.metadata.uid};
    }
  }
  return ConsumerOf(pod);
}

Expected<GroupClaimName> NameOf(const api::PodGroup& group, const api::PodResourceClaim& claim) {
  if (claim.resource_claim_name) return GroupClaimName{claim.resource_claim_name, false};
  if (!claim.resource_claim_template_name) {
    return Invalid(fmt::format("PodGroup {}, spec.resourceClaim {}: none of the supported fields are set",
                               group.metadata.Key(), claim.name));
  }
  const auto& statuses = group.resource_claim_statuses;
  const auto status = std::ranges::find(statuses, claim.name, &api::PodResourceClaimStatus::name);
  if (status == statuses.end())
    return Invalid(fmt::format("PodGroup {}: ResourceClaim not created yet", group.metadata.Key()));
  return GroupClaimName{status->resource_claim_name, true};
}

}  // namespace berth::plugins
