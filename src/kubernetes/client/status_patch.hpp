// The bodies of status patches of pods and pod groups.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::client {

// The strategic merge patch that kube-scheduler v1.37 would send: the difference between the pod's status and
// the same status with PodScheduled=False, keys in alphabetical order. Empty: nothing would change, so no
// request is needed; a new observedGeneration alone is no change.
std::string StatusPatchBody(const ports::PodStatusPatch& patch, WallTime now);

// The same for a condition of a PodGroup. A new observedGeneration is a change.
std::string StatusPatchBody(const ports::PodGroupStatusPatch& patch, WallTime now);

}  // namespace berth::client
