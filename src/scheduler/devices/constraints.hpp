// Constraints of a claim on the attributes of its devices (matchAttribute, distinctAttribute).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kubernetes/api/devices.hpp"

namespace berth::devices {

// The devices of one claim that a constraint applies to, checked as they are added. Refers to the constraint
// and to the devices.
class ConstraintCheck {
 public:
  explicit ConstraintCheck(const api::ResourceClaim::Constraint& constraint) : constraint_(constraint) {}

  // Adds a device of a request, and of one of its alternatives (empty: it has none). Returns false, without
  // effect, if the constraint would be violated. Requests that the constraint does not name are always
  // accepted.
  bool Add(std::string_view request, std::string_view alternative, const api::Device& device,
           std::string_view driver);
  // Removes the device that was added last, with the same arguments.
  void Remove(std::string_view request, std::string_view alternative);

 private:
  bool AppliesTo(std::string_view request, std::string_view alternative) const;

  const api::ResourceClaim::Constraint& constraint_;
  std::vector<const api::DeviceAttribute*> added_;
};

}  // namespace berth::devices
