// Which devices of the cluster are allocated: those of all claims with an allocation, and those that a pod in
// its binding cycle has reserved.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.hpp"
#include "base/text_map.hpp"
#include "kubernetes/api/devices.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::devices {

struct DeviceTag;
// A device: driver, pool and name. The number is assigned again after the last holder has released it.
using DeviceId = Id<DeviceTag>;

using AllocationPtr = std::shared_ptr<const api::ResourceClaim::Allocation>;

// Kept incrementally. Memory is proportional to the devices of the cluster's slices and allocations.
// Scheduler loop only.
class AllocatedDevices {
 public:
  // How a device is used.
  struct Use {
    std::uint32_t claims = 0;     // allocations of the whole device
    std::uint32_t shares = 0;     // allocations of a part of it
    api::QuantityMap consumed{};  // capacity that the shares consume
    bool free() const { return claims == 0 && shares == 0; }
  };

  // Without consumable capacity (gate DRAConsumableCapacity off) a share counts as the whole device.
  explicit AllocatedDevices(bool consumable_capacity) : consumable_capacity_(consumable_capacity) {}

  // The number of a device. Each call must be matched by one of Release.
  DeviceId Acquire(std::string_view driver, std::string_view pool, std::string_view device);
  void Release(DeviceId device);
  const Use& use(DeviceId device) const { return entries_[device.value].use; }

  // A claim was added, changed or deleted; to be called for every change of the table of claims, assumed
  // versions included.
  void Apply(const ports::Change<api::ResourceClaim>& change);

  // Whether members of a pod group may share a pending allocation.
  enum class Sharing : std::uint8_t {
    kNone,
    kGroupCycle,  // made in the cycle of a group that has not ended; only its members are evaluated meanwhile
  };
  // Reserves the devices of an allocation that is not written yet. It counts until the claim has an
  // allocation of its own or is deleted, every pod that has added it has called ReleasePending, or
  // RemovePending is called. `claim` is its UID, or another unique text for a claim that does not exist yet.
  // Returns the pending allocation: an earlier one if there is one, which the pod shares from now on.
  AllocationPtr AddPending(const std::string& claim, AllocationPtr allocation,
                           Sharing sharing = Sharing::kNone);
  // Ends the share of one pod. Without effect if `allocation` is not the pending one any more.
  void ReleasePending(const std::string& claim, const AllocationPtr& allocation);
  // For all pods. Without effect if there is none.
  void RemovePending(const std::string& claim);
  // The pending allocation was written; the claim has this resource version now. The allocation counts until
  // a version of the claim that is not older is received; no longer if that has happened already.
  void MarkWritten(const std::string& claim, std::string_view resource_version);
  // Null if there is none.
  AllocationPtr PendingOf(std::string_view claim) const;
  // The same, if it was added with Sharing::kGroupCycle.
  AllocationPtr SharedPendingOf(std::string_view claim) const;

  // Called after the use of a device has changed. At most one listener.
  void Listen(std::function<void(DeviceId)> listener) { listener_ = std::move(listener); }

 private:
  using Device = api::ResourceClaim::AllocatedDevice;
  struct Entry {
    std::string key;
    std::uint32_t holders = 0;
    Use use;
  };
  // Of a claim: the allocation that the API server has, and the one that is being written.
  struct Claim {
    AllocationPtr stored;
    AllocationPtr pending;
    Sharing sharing = Sharing::kNone;   // of the pending one
    std::uint32_t sharers = 0;          // the pods that have added it
    std::uint64_t written_version = 0;  // 0: not written yet
    std::uint64_t seen_version = 0;     // the last one received
    bool arrived() const { return written_version != 0 && seen_version >= written_version; }
    const AllocationPtr& effective() const { return stored != nullptr ? stored : pending; }
  };
  // Calls change(claim), moves the uses from the old to the new effective allocation, and drops an empty
  // entry.
  template <class ChangeClaim>
  void Change(const std::string& claim, ChangeClaim&& change);
  void Add(const Device& device);
  void Remove(const Device& device);
  // Whether the uses of these devices equal a recount over all claims. Null: true.
  bool EqualRecount(const AllocationPtr& allocation) const;
  bool IsShare(const Device& device) const { return consumable_capacity_ && device.share_id.has_value(); }

  const bool consumable_capacity_;
  std::vector<Entry> entries_;  // by DeviceId
  std::vector<DeviceId> free_;
  FlatTextMap<DeviceId> ids_;  // by key
  FlatTextMap<Claim> claims_;  // by UID
  std::function<void(DeviceId)> listener_ = [](DeviceId) {};
};

}  // namespace berth::devices
