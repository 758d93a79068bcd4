#include "tools/shadow/claims.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::shadow {

using api::ResourceClaim;

std::string ClaimTracker::Note(const ports::Change<ResourceClaim>& change) {
  const auto& [before, after] = change;
  if (before != nullptr && (after == nullptr || after->metadata.uid != before->metadata.uid))
    by_uid_.erase(before->metadata.uid);
  if (after == nullptr) return "";
  const std::string& uid = after->metadata.uid;
  const bool known = before != nullptr && before->metadata.uid == uid;
  if (known && !before->allocation && after->allocation && after->reserved_for.size() == 1) {
    const std::string pod_uid = after->reserved_for.front().uid;
    by_uid_.insert_or_assign(uid, Entry{pod_uid, {after->for_extended_resources ? nullptr : before, after}});
    return pod_uid;
  }
  const auto entry = by_uid_.find(uid);
  if (entry == by_uid_.end()) return "";
  // A failed binding ends the reservation; the allocation stays.
  const bool reserved =
      after->allocation && std::ranges::any_of(after->reserved_for, [&](const auto& consumer) {
        return consumer.uid == entry->second.pod_uid;
      });
  if (!reserved) by_uid_.erase(entry);
  return "";
}

std::vector<AllocatedClaim> ClaimTracker::Take(std::string_view pod_uid) {
  std::vector<AllocatedClaim> taken;
  for (auto entry = by_uid_.begin(); entry != by_uid_.end();) {
    if (entry->second.pod_uid != pod_uid) {
      ++entry;
      continue;
    }
    taken.push_back(std::move(entry->second.claim));
    entry = by_uid_.erase(entry);
  }
  std::ranges::sort(taken, {}, [](const AllocatedClaim& claim) {
    return std::string_view(claim.allocated->metadata.name);
  });
  return taken;
}

std::string DevicesText(const std::string& claim, const ResourceClaim::Allocation& allocation) {
  std::string text = claim + ":";
  for (const ResourceClaim::AllocatedDevice& device : allocation.devices) {
    text += fmt::format("{} {}={}/{}/{}", text.ends_with(':') ? "" : ",", device.request, device.driver,
                        device.pool, device.device);
    if (device.admin_access) text += " (admin access)";
    for (const auto& [name, amount] : device.consumed_capacity)
      text += fmt::format(" ({} {})", name, amount.Canonical());
  }
  return text;
}

}  // namespace berth::shadow
