// What can happen in a cluster that makes a rejected pod worth another try (kube-scheduler v1.37.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::framework {

enum class EventResource : std::uint8_t {
  kAssignedPod,  // a pod on a node
  kTargetPod,    // the waiting pod itself
  kUnscheduledPod,
  kNode,
  kPersistentVolume,
  kPersistentVolumeClaim,
  kStorageClass,
  kCSINode,
  kCSIDriver,
  kCSIStorageCapacity,
  kVolumeAttachment,
  kDeviceClass,
  kResourceClaim,
  kResourceSlice,
  kAny,
};

// Bits in the original's order: an event matches a registration if the masks overlap and the event's is not
// numerically greater, so that a registered UpdateNodeLabel does not match a general Update.
using ActionMask = std::uint32_t;
enum Action : ActionMask {
  kAdd = 1u << 0,
  kDelete = 1u << 1,
  kUpdateNodeAllocatable = 1u << 2,
  kUpdateNodeLabel = 1u << 3,
  kUpdateNodeTaint = 1u << 4,
  kUpdateNodeCondition = 1u << 5,
  kUpdateNodeAnnotation = 1u << 6,
  kUpdateNodeDeclaredFeature = 1u << 7,
  kUpdateNodePreemptionPolicy = 1u << 8,
  kUpdatePodLabel = 1u << 9,
  kUpdatePodScaleDown = 1u << 10,
  kUpdatePodScaleUp = 1u << 11,
  kUpdatePodToleration = 1u << 12,
  kUpdatePodSchedulingGatesEliminated = 1u << 13,
  kUpdatePodGeneratedResourceClaim = 1u << 14,
};
inline constexpr ActionMask kUpdate = ((1u << 15) - 1) & ~ActionMask{kAdd | kDelete};
inline constexpr ActionMask kAllActions = (1u << 15) - 1;

struct ClusterEvent {
  EventResource resource = EventResource::kAny;
  ActionMask action = kAllActions;
  const char* label = "";  // as metrics name it: "NodeAdd", "AssignedPodDelete"

  bool Matches(const ClusterEvent& incoming) const {
    return (resource == EventResource::kAny || resource == incoming.resource) &&
           (action & incoming.action) != 0 && incoming.action <= action;
  }
  bool wildcard() const { return resource == EventResource::kAny && action == kAllActions; }
};

inline constexpr ClusterEvent kUnschedulableTimeout{EventResource::kAny, kAllActions, "UnschedulableTimeout"};

}  // namespace berth::framework
