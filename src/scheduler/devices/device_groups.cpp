#include "scheduler/devices/device_groups.hpp"

#include <algorithm>
#include <variant>

namespace berth::devices {
namespace {

bool SameUse(const AllocatedDevices::Use& a, const AllocatedDevices::Use& b) {
  return a.claims == b.claims && a.shares == b.shares && a.consumed == b.consumed;
}

// A value of an unknown type equals no other one.
bool SameAttribute(const api::DeviceAttribute* a, const api::DeviceAttribute* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return !std::holds_alternative<std::monostate>(a->value) && a->value == b->value;
}

bool SameDevice(const SliceDevice& a, const SliceDevice& b) {
  const api::Device& x = *a.device;
  const api::Device& y = *b.device;
  return x.capacity == y.capacity && x.consumes_counters == y.consumes_counters &&
         x.allow_multiple_allocations == y.allow_multiple_allocations &&
         x.binding_conditions.empty() == y.binding_conditions.empty() && a.taints == b.taints;
}

bool Interchangeable(const DeviceProfile& a, const DeviceProfile& b) {
  return a.pool == b.pool && a.usable == b.usable && a.selectable == b.selectable &&
         std::ranges::equal(a.attributes, b.attributes, SameAttribute) && SameUse(*a.use, *b.use) &&
         SameDevice(*a.device, *b.device);
}

}  // namespace

void DeviceGroups::Add(DeviceProfile profile) {
  const DeviceId id = profile.device->id;
  const auto known = std::ranges::find_if(
      first_, [&](const DeviceProfile& other) { return Interchangeable(profile, other); });
  group_of_.emplace(id, static_cast<std::uint32_t>(known - first_.begin()));
  if (known == first_.end()) first_.push_back(std::move(profile));
}

std::optional<std::uint32_t> DeviceGroups::Of(DeviceId device) const {
  const auto found = group_of_.find(device);
  return found == group_of_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace berth::devices
