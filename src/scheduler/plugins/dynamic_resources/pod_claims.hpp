// The resource claims of a pod during one attempt.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/row_set.hpp"
#include "kubernetes/api/objects.hpp"
#include "scheduler/cluster/ids.hpp"
#include "scheduler/devices/allocator.hpp"

namespace berth::plugins {

// The API of PodGroups, as in status.reservedFor of their claims.
inline constexpr std::string_view kGroupsApi = "scheduling.k8s.io";
inline constexpr std::string_view kGroupsResource = "podgroups";

using ResourceClaimPtr = std::shared_ptr<const api::ResourceClaim>;

// A claim of the pod.
struct DeviceClaim {
  ResourceClaimPtr object = {};  // as PreFilter found it, later as PreBind has written it
  // The consumer in the reservation of PreBind: the pod, or its group if the claim is the group's.
  api::ResourceClaim::Consumer consumer = {};
  // The allocation that an earlier member of the pod's group has reserved in the same cycle of the group and
  // that is not written yet; null: the pod needs an allocation of its own, or the claim is allocated.
  devices::AllocationPtr shared = {};
  // With an allocation, shared or written: the nodes on which it can be used; nullopt: all nodes, or an
  // earlier reference of the pod to the same claim has them. The same holds for `lapsed`.
  std::optional<RowSet> available = {};
  // Of an allocated claim: its devices failed to become ready in time. It is unavailable on every node.
  bool lapsed = false;
  bool unavailable = false;  // Filter rejected a node because of it
  // Set by Reserve: the allocation that PreBind writes.
  devices::AllocationPtr allocation = {};
  // The special claim for extended resources that DeviceClasses provide; always the last one of the pod.
  bool special = false;
  bool in_memory = false;  // it is not created yet; PreBind creates it

  bool allocated() const { return object->allocation.operator bool(); }
  // Devices must be found for it.
  bool needs_devices() const { return !allocated() && shared == nullptr; }
};

// An extended resource that the pod requests.
struct RequestedResource {
  cluster::ResourceId id;
  std::string name;
  std::string class_name;  // of the class that provides it; empty: none does
  std::int64_t amount = 0;
};

// Cycle state of DynamicResources.
struct DevicesOfPod {
  std::vector<DeviceClaim> claims;
  std::string group = {};        // the pod's group, if reservations for it count; else empty
  bool allocates = false;        // some claims are not allocated yet, shared ones included
  bool filtered = false;         // Filter was called; a profile may disable it
  std::uint64_t steps_left = 0;  // of all searches for this pod (devices::SearchLimits)

  // The answer for nodes with one picture.
  struct Answer {
    devices::AllocationOutcome::Kind kind{};
    std::int64_t score = 0;
  };
  // By resource: whether devices provide it. Pods without a special claim have one variant.
  using VariantKey = std::vector<bool>;
  // The claims as nodes need them that provide the same extended resources by devices.
  struct Variant {
    ResourceClaimPtr special = {};  // with its requests; null: no device is requested for extended resources
    VariantKey by_devices = {};     // if it is not null
    boost::unordered_flat_map<std::uint64_t, Answer> answers = {};  // by NodeDevices::picture
  };
  std::vector<RequestedResource> resources{};  // by name; empty without a special claim
  std::map<VariantKey, Variant> variants{};
  VariantKey key{};                   // of the node that is considered
  const Variant* reserved = nullptr;  // the variant of the node; set by Reserve

  // Null if there is none.
  const DeviceClaim* special() const {
    return claims.empty() || !claims.back().special ? nullptr : &claims.back();
  }
  bool has_user_claims() const { return claims.size() > (special() == nullptr ? 0 : 1); }
  // The claims that need devices, in the order of the pod.
  std::vector<const api::ResourceClaim*> Unallocated(const Variant& variant) const {
    std::vector<const api::ResourceClaim*> result;
    for (const DeviceClaim& claim : claims) {
      if (!claim.needs_devices()) continue;
      const api::ResourceClaim* object = claim.special ? variant.special.get() : claim.object.get();
      if (object != nullptr) result.push_back(object);
    }
    return result;
  }
};
using DevicesOfPodPtr = std::shared_ptr<DevicesOfPod>;

// Whether status.reservedFor of the claim contains the pod.
bool IsReservedFor(const api::ResourceClaim& claim, const api::Pod& pod);
// The same, or the PodGroup of this name in the pod's namespace; empty: none.
bool IsReservedFor(const api::ResourceClaim& claim, const api::Pod& pod, std::string_view group);

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
