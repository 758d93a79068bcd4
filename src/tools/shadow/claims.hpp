// The claims that the other scheduler allocates for pods before it binds them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::shadow {

using ResourceClaimPtr = std::shared_ptr<const api::ResourceClaim>;

// A claim that the other scheduler allocated for a pod.
struct AllocatedClaim {
  ResourceClaimPtr unallocated;  // its last version before; null: created for extended resources of the pod
  ResourceClaimPtr allocated;    // its first version with the allocation
};

// Memory is proportional to the claims that are reserved for pods which are not bound yet. One thread.
class ClaimTracker {
 public:
  // To be called for every change. Returns the UID of the pod for which the change allocates the claim;
  // empty: it allocates none.
  std::string Note(const ports::Change<api::ResourceClaim>& change);
  // The claims allocated for the pod, and not taken before; by name.
  std::vector<AllocatedClaim> Take(std::string_view pod_uid);

 private:
  struct Entry {
    std::string pod_uid;
    AllocatedClaim claim;
  };
  TextMap<Entry> by_uid_;  // of the claim
};

// "namespace/name: request=driver/pool/device, ..."; without ids of shares.
std::string DevicesText(const std::string& claim, const api::ResourceClaim::Allocation& allocation);

}  // namespace berth::shadow
