// The devices that a pod would get on a node, for comparisons with another scheduler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kubernetes/api/devices.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::framework {

struct PreviewedAllocation {
  std::string claim_uid;
  bool for_extended_resources = false;  // of the pod; the claim does not exist
  std::shared_ptr<const api::ResourceClaim::Allocation> allocation;
};

class AllocationPreviewPlugin : public virtual Plugin {
 public:
  // The allocations that Reserve would make for this placement, which was filtered. Has no effect.
  virtual Expected<std::vector<PreviewedAllocation>> PreviewAllocations(const Placement& placement) const = 0;
};

}  // namespace berth::framework
