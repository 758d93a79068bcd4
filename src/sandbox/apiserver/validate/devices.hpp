// Validation of resource.k8s.io: claims, templates, classes, slices and taint rules.
#pragma once

#include "sandbox/apiserver/validate/names.hpp"
#include "sandbox/store/resource.hpp"

namespace berth::sandbox {

// The spec. `before`: the stored state; null for a new object. The specs of claims and templates are
// immutable and therefore validated once; CEL expressions are compiled when they are new. Not validated: the
// estimated cost of an expression.
void ValidateDevices(const ResourceType& type, const json::object& document, const json::object* before,
                     Causes& causes);

// The spec of a ResourceSlice.
void ValidateSlice(const json::object& spec, Causes& causes);

// An update of the status of a claim: allocation, reservations, status of devices.
void ValidateClaimStatus(const json::object& before, const json::object& after, Causes& causes);

// The rules for names of devices, which configuration files share.
bool IsDriverName(std::string_view name);
// [domain/]identifier, of an attribute or a capacity.
bool IsDeviceProperty(std::string_view name);
bool IsSemanticVersion(std::string_view text);

}  // namespace berth::sandbox
