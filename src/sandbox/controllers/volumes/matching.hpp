// Which volume is good enough for a claim.
#pragma once

#include <optional>
#include <string>

#include "kubernetes/api/quantity.hpp"
#include "sandbox/store/object.hpp"

namespace berth::sandbox {

// The volume's size if it has the class, the mode, all access modes, the labels and the size that the claim's
// spec asks for and can be reached from the node (if one is given).
std::optional<api::Quantity> Fit(const json::object& claim_spec, const Object& volume,
                                 const json::object& volume_spec, std::string_view class_name,
                                 const Object* node);

// A node affinity that binds a volume to the zone of a node; empty if the node has none.
json::object ZoneAffinity(const Object& node);

}  // namespace berth::sandbox
