// Prepares the devices of a pod before its containers start.
#pragma once

#include <optional>
#include <string>

#include "sandbox/store/store.hpp"

namespace berth::sandbox {

// Why the pod cannot start, in the words of a kubelet; nullopt: all its claims exist, are allocated and are
// reserved for it. Every driver counts as installed on every node.
std::optional<std::string> PrepareClaims(const Store& store, const Object& pod);

}  // namespace berth::sandbox
