#include "scheduler/devices/constraints.hpp"

#include <algorithm>
#include <variant>

#include "base/check.hpp"
#include "scheduler/devices/properties.hpp"

namespace berth::devices {
namespace {

bool IsKnown(const api::DeviceAttribute& attribute) {
  return !std::holds_alternative<std::monostate>(attribute.value);
}

// Semantic versions are in their minimal form, so that equal versions have equal texts.
bool SameValue(const api::DeviceAttribute& a, const api::DeviceAttribute& b) {
  return IsKnown(a) && a.value == b.value;
}

// Whether `name` is "request/alternative".
bool IsAlternative(std::string_view name, std::string_view request, std::string_view alternative) {
  return name.size() == request.size() + 1 + alternative.size() && name.starts_with(request) &&
         name[request.size()] == '/' && name.ends_with(alternative);
}

}  // namespace

bool ConstraintCheck::Add(std::string_view request, std::string_view alternative, const api::Device& device,
                          std::string_view driver) {
  if (!AppliesTo(request, alternative)) return true;
  const bool match = constraint_.match_attribute.has_value();
  const api::DeviceAttribute* attribute = FindQualified(
      device.attributes, driver, match ? *constraint_.match_attribute : *constraint_.distinct_attribute);
  if (attribute == nullptr) return false;
  // The first device is accepted with an attribute of any type, as in kube-scheduler.
  if (!added_.empty()) {
    if (!IsKnown(*attribute)) return false;
    const auto same = [&](const api::DeviceAttribute* other) { return SameValue(*attribute, *other); };
    if (match ? !same(added_.front()) : std::ranges::any_of(added_, same)) return false;
  }
  added_.push_back(attribute);
  return true;
}

void ConstraintCheck::Remove(std::string_view request, std::string_view alternative) {
  if (!AppliesTo(request, alternative)) return;
  BERTH_CHECK(!added_.empty(), request, alternative);
  added_.pop_back();
}

bool ConstraintCheck::AppliesTo(std::string_view request, std::string_view alternative) const {
  return constraint_.requests.empty() ||
         std::ranges::any_of(constraint_.requests, [&](const std::string& name) {
           return name == request || (!alternative.empty() && IsAlternative(name, request, alternative));
         });
}

}  // namespace berth::devices
