// Matches volumes with claims.
#pragma once

#include <optional>
#include <string>

#include "kubernetes/api/quantity.hpp"
#include "sandbox/store/object.hpp"

namespace berth::sandbox {

// The volume's size if it satisfies the claim's class, mode, access modes, labels and size, and is accessible
// from the node (if one is given).
std::optional<api::Quantity> Fit(const json::object& claim_spec, const Object& volume,
                                 const json::object& volume_spec, std::string_view class_name,
                                 const Object* node);

// A node affinity that restricts a volume to the zone of a node; empty if the node has no zone.
json::object ZoneAffinity(const Object& node);

}  // namespace berth::sandbox
