// The body of a pod status patch.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::client {

// The strategic merge patch that kube-scheduler v1.37 would send: the difference between the pod's status and
// the same status with PodScheduled=False, keys in alphabetical order. Empty: nothing would change, so no
// request is needed; a new observedGeneration alone is no change.
std::string StatusPatchBody(const ports::PodStatusPatch& patch, WallTime now);

}  // namespace berth::client
