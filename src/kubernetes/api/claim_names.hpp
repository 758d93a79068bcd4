// The names of the ResourceClaims of pods.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/seeded_hash.hpp"
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

// Finds the claims that were made from templates, by the names of the pod's references. Of many entries of
// the status, which are in no defined order, the first search makes a table. The pod must outlive it.
class ClaimStatusFinder {
 public:
  explicit ClaimStatusFinder(const Pod& pod) : statuses_(pod.status.resource_claim_statuses) {}

  // The first entry with this name; null: there is none.
  const PodResourceClaimStatus* Find(std::string_view reference) {
    if (statuses_.size() <= kFew) {
      const auto found = std::ranges::find(statuses_, reference, &PodResourceClaimStatus::name);
      return found == statuses_.end() ? nullptr : &*found;
    }
    if (by_name_.empty()) {
      for (const PodResourceClaimStatus& status : statuses_) by_name_.emplace(status.name, &status);
    }
    const auto found = by_name_.find(reference);
    return found == by_name_.end() ? nullptr : found->second;
  }

 private:
  static constexpr std::size_t kFew = 16;
  const CowList<PodResourceClaimStatus>& statuses_;
  boost::unordered_flat_map<std::string_view, const PodResourceClaimStatus*, SeededHash, std::equal_to<>>
      by_name_;
};

}  // namespace berth::api
