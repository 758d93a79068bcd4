#pragma once

#include <string>
#include <vector>

#include "kubernetes/api/pod.hpp"

namespace berth::api {

// The ResourceClaims that the pod uses, in its namespace: named in its spec, made from templates, and made
// for extended resources.
inline std::vector<std::string> ClaimNamesOf(const Pod& pod) {
  std::vector<std::string> names;
  const auto add = [&](const auto& name) {
    if (name) names.push_back(*name);
  };
  for (const PodResourceClaim& reference : pod.spec.resource_claims) add(reference.resource_claim_name);
  for (const PodResourceClaimStatus& status : pod.status.resource_claim_statuses)
    add(status.resource_claim_name);
  if (pod.status.extended_resource_claim)
    names.push_back(pod.status.extended_resource_claim->resource_claim_name);
  return names;
}

}  // namespace berth::api
