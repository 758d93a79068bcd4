#include "scheduler/devices/allocated_devices.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "kubernetes/api/resource_version.hpp"
#include "scheduler/devices/capacity.hpp"

namespace berth::devices {
namespace {

// Names contain no "/": they are DNS labels and subdomains; pools may have several segments.
std::string KeyOf(std::string_view driver, std::string_view pool, std::string_view device) {
  std::string key;
  key.reserve(driver.size() + pool.size() + device.size() + 2);
  key.append(driver).append("\n").append(pool).append("\n").append(device);
  return key;
}

AllocationPtr AllocationOf(const std::shared_ptr<const api::ResourceClaim>& claim) {
  if (claim == nullptr || !claim->allocation) return nullptr;
  return {claim, &*claim->allocation};
}

// A sum of zero may have no entry.
bool HaveEqualValues(const api::QuantityMap& sums, const api::QuantityMap& counted) {
  const auto same = [](const api::QuantityMap& a, const api::QuantityMap& b) {
    return std::ranges::all_of(a, [&](const auto& entry) {
      const auto other = b.find(entry.first);
      return entry.second.Compare(other == b.end() ? api::Quantity() : other->second) == 0;
    });
  };
  return same(sums, counted) && same(counted, sums);
}

}  // namespace

void AllocatedDevices::Apply(const ports::Change<api::ResourceClaim>& change) {
  // A claim that was deleted and created again has another UID. The version that was written to the deleted
  // one may never arrive.
  if (change.before != nullptr &&
      (change.after == nullptr || change.after->metadata.uid != change.before->metadata.uid)) {
    Change(change.before->metadata.uid, [](Claim& claim) { claim.stored = claim.pending = nullptr; });
  }
  if (change.after == nullptr) return;
  Change(change.after->metadata.uid, [&](Claim& claim) {
    claim.stored = AllocationOf(change.after);
    claim.seen_version = api::VersionNumber(change.after->metadata.resource_version);
    if (claim.arrived()) claim.pending = nullptr;
  });
}

AllocationPtr AllocatedDevices::AddPending(const std::string& claim, AllocationPtr allocation,
                                           Sharing sharing) {
  AllocationPtr pending;
  Change(claim, [&](Claim& entry) {
    if (entry.pending == nullptr) {
      entry.pending = std::move(allocation);
      entry.sharing = sharing;
      entry.sharers = 0;
    }
    ++entry.sharers;
    pending = entry.pending;
  });
  return pending;
}

void AllocatedDevices::ReleasePending(const std::string& claim, const AllocationPtr& allocation) {
  Change(claim, [&](Claim& entry) {
    if (entry.pending != allocation || allocation == nullptr) return;
    BERTH_CHECK(entry.sharers > 0, claim);
    if (--entry.sharers == 0) entry.pending = nullptr;
  });
}

void AllocatedDevices::RemovePending(const std::string& claim) {
  Change(claim, [](Claim& entry) { entry.pending = nullptr; });
}

void AllocatedDevices::MarkWritten(const std::string& claim, std::string_view resource_version) {
  Change(claim, [&](Claim& entry) {
    entry.written_version = api::VersionNumber(resource_version);
    // The watch may have been faster, and the claim may have lost the allocation again.
    if (entry.stored != nullptr || entry.arrived()) entry.pending = nullptr;
  });
}

AllocationPtr AllocatedDevices::PendingOf(std::string_view claim) const {
  const auto found = claims_.find(claim);
  return found == claims_.end() ? nullptr : found->second.pending;
}

AllocationPtr AllocatedDevices::SharedPendingOf(std::string_view claim) const {
  const auto found = claims_.find(claim);
  const bool shared = found != claims_.end() && found->second.sharing == Sharing::kGroupCycle;
  return shared ? found->second.pending : nullptr;
}

template <class ChangeClaim>
void AllocatedDevices::Change(const std::string& claim, ChangeClaim&& change) {
  const auto found = claims_.find(claim);
  Claim entry = found == claims_.end() ? Claim{} : found->second;
  const AllocationPtr before = entry.effective();
  change(entry);
  const AllocationPtr after = entry.effective();
  // Added first, so that a device in both keeps its number. `before` stays alive until its uses are removed.
  if (before != after && after != nullptr) {
    for (const Device& device : after->devices) Add(device);
  }
  if (before != after && before != nullptr) {
    for (const Device& device : before->devices) Remove(device);
  }
  if (entry.pending == nullptr) entry.written_version = 0;
  if (after != nullptr) {
    claims_.insert_or_assign(claim, std::move(entry));
  } else if (found != claims_.end()) {
    claims_.erase(claim);
  }
  BERTH_DCHECK(before == after || (EqualRecount(before) && EqualRecount(after)));
}

void AllocatedDevices::Add(const Device& device) {
  if (device.admin_access) return;
  const DeviceId id = Acquire(device.driver, device.pool, device.device);
  Entry& entry = entries_[id.value];
  if (IsShare(device)) {
    ++entry.use.shares;
    AddAmounts(entry.use.consumed, device.consumed_capacity);
  } else {
    ++entry.use.claims;
  }
  listener_(id);
}

void AllocatedDevices::Remove(const Device& device) {
  if (device.admin_access) return;
  const auto found = ids_.find(KeyOf(device.driver, device.pool, device.device));
  BERTH_CHECK(found != ids_.end(), device.driver, device.pool, device.device);
  const DeviceId id = found->second;
  Entry& entry = entries_[id.value];
  if (IsShare(device)) {
    BERTH_CHECK(entry.use.shares > 0, device.driver, device.pool, device.device);
    SubtractAmounts(entry.use.consumed, device.consumed_capacity);
    if (--entry.use.shares == 0) entry.use.consumed.clear();
  } else {
    BERTH_CHECK(entry.use.claims > 0, device.driver, device.pool, device.device);
    --entry.use.claims;
  }
  listener_(id);
  Release(id);
}

bool AllocatedDevices::EqualRecount(const AllocationPtr& allocation) const {
  if (allocation == nullptr) return true;
  return std::ranges::all_of(allocation->devices, [&](const Device& device) {
    Use counted;
    for (const auto& [uid, claim] : claims_) {
      for (const Device& other : claim.effective()->devices) {
        if (other.admin_access || other.device != device.device || other.pool != device.pool ||
            other.driver != device.driver)
          continue;
        ++(IsShare(other) ? counted.shares : counted.claims);
        if (IsShare(other)) AddAmounts(counted.consumed, other.consumed_capacity);
      }
    }
    const auto known = ids_.find(KeyOf(device.driver, device.pool, device.device));
    if (known == ids_.end()) return counted.free();
    const Use& use = entries_[known->second.value].use;
    return use.claims == counted.claims && use.shares == counted.shares &&
           HaveEqualValues(use.consumed, counted.consumed);
  });
}

DeviceId AllocatedDevices::Acquire(std::string_view driver, std::string_view pool, std::string_view device) {
  std::string key = KeyOf(driver, pool, device);
  const auto found = ids_.find(key);
  if (found != ids_.end()) {
    ++entries_[found->second.value].holders;
    return found->second;
  }
  DeviceId id{static_cast<std::uint32_t>(entries_.size())};
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[id.value];
  entry.key = key;
  entry.holders = 1;
  ids_.emplace(std::move(key), id);
  return id;
}

void AllocatedDevices::Release(DeviceId device) {
  BERTH_CHECK(device.value < entries_.size(), device);
  Entry& entry = entries_[device.value];
  BERTH_CHECK(entry.holders > 0, device);
  if (--entry.holders > 0) return;
  BERTH_CHECK(entry.use.free(), device, entry.use.claims, entry.use.shares);
  ids_.erase(entry.key);
  entry = Entry{};
  free_.push_back(device);
}

}  // namespace berth::devices
