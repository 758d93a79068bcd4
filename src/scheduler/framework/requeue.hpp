// What an event does with a waiting pod, and the events that need no object.
#pragma once

#include <cstdint>

#include "scheduler/framework/cluster_event.hpp"

namespace berth::framework {

// The combined result of the hints of all plugins that rejected a pod.
enum class Requeue : std::uint8_t {
  kSkip,          // leave the pod in the unschedulable queue
  kAfterBackoff,  // move it to activeQ when its back-off has expired
  kImmediately,   // move it to activeQ now: the plugin that returned kQueue had returned Pending
};

inline constexpr ClusterEvent kUnschedulableTimeout{EventResource::kAny, kAllActions, "UnschedulableTimeout"};
inline constexpr ClusterEvent kForceActivate{EventResource::kAny, kAllActions, "ForceActivate"};

}  // namespace berth::framework
