// The resource claims of a pod during one attempt.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/row_set.hpp"
#include "kubernetes/api/objects.hpp"
#include "scheduler/devices/allocator.hpp"

namespace berth::plugins {

using ResourceClaimPtr = std::shared_ptr<const api::ResourceClaim>;

// A claim of the pod.
struct DeviceClaim {
  ResourceClaimPtr object = {};  // as PreFilter found it, later as PreBind has written it
  // Of an allocated claim: the nodes on which it can be used; nullopt: all nodes.
  std::optional<RowSet> available = {};
  // Of an allocated claim: its devices failed to become ready in time. It is unavailable on every node.
  bool lapsed = false;
  bool unavailable = false;  // Filter rejected a node because of it
  // Set by Reserve: the allocation that PreBind writes.
  devices::AllocationPtr allocation = {};

  bool allocated() const { return object->allocation.operator bool(); }
};

// Cycle state of DynamicResources.
struct DevicesOfPod {
  std::vector<DeviceClaim> claims;
  bool allocates = false;        // some claims are not allocated yet
  std::uint64_t steps_left = 0;  // of all searches for this pod (devices::SearchLimits)

  // The answer for nodes with one picture.
  struct Answer {
    devices::AllocationOutcome::Kind kind{};
    std::int64_t score = 0;
  };
  boost::unordered_flat_map<std::uint32_t, Answer> answers{};  // by NodeDevices::picture

  // The claims to be allocated, in the order of the pod.
  std::vector<const api::ResourceClaim*> Unallocated() const {
    std::vector<const api::ResourceClaim*> result;
    for (const DeviceClaim& claim : claims) {
      if (!claim.allocated()) result.push_back(claim.object.get());
    }
    return result;
  }
};
using DevicesOfPodPtr = std::shared_ptr<DevicesOfPod>;

// Whether status.reservedFor of the claim contains the pod.
bool IsReservedFor(const api::ResourceClaim& claim, const api::Pod& pod);

// The state of the devices that become ready after the allocation (binding conditions).
struct BindingConditions {
  enum class State : std::uint8_t { kReady, kPending, kFailed };
  State state = State::kReady;
  std::string failure{};  // kFailed: kube-scheduler's text
};
BindingConditions ConditionsOf(const api::ResourceClaim& claim);
// Whether a device of the claim has binding conditions, ready or not.
bool HasBindingConditions(const api::ResourceClaim& claim);
// Whether the devices of an allocation that began before `limit` have had their time. False without a
// timestamp or binding conditions.
bool HasLapsed(const api::ResourceClaim& claim, WallTime limit);

}  // namespace berth::plugins
