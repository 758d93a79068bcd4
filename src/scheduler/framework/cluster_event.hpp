// Cluster events that can make a rejected pod schedulable, and the hints with which plugins evaluate them
// (queueing hints of kube-scheduler v1.37.1).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/node.hpp"
#include "kubernetes/api/pod.hpp"
#include "scheduler/cluster/pod_info.hpp"

namespace berth::framework {

// The kind of object that changed.
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
  kPodGroup,
  kCompositePodGroup,
  kElasticQuota,
  kNodeResourceTopology,
  kPluginState,  // Berth's own: measurements or other inputs of a plugin (plugin_state_change.hpp)
  kAny,
};

// Bits in kube-scheduler's order. An event matches a registration if the masks overlap and the event's mask
// is not numerically greater; a registered UpdateNodeLabel therefore does not match a general Update.
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

// A kind of event, or the kinds for which a plugin registers.
struct ClusterEvent {
  EventResource resource = EventResource::kAny;
  ActionMask action = kAllActions;
  const char* label = "";  // as in metrics: "NodeAdd", "AssignedPodDelete"

  bool Matches(const ClusterEvent& incoming) const {
    return (resource == EventResource::kAny || resource == incoming.resource) &&
           (action & incoming.action) != 0 && incoming.action <= action;
  }
  bool wildcard() const { return resource == EventResource::kAny && action == kAllActions; }
};

class EventCache;
// The object of an event (api::Pod, api::Node, ...) before and after. Both are null: a wildcard event, or one
// of a DeviceTaintRule, whose resource is kResourceSlice; no hint is called for it.
struct EventObjects {
  std::shared_ptr<const void> before;      // null: created
  std::shared_ptr<const void> after;       // null: deleted
  std::shared_ptr<EventCache> cache = {};  // for ComputeOnce (scheduler/framework/event_cache.hpp)

  template <class T>
  const T* Before() const {
    return static_cast<const T*>(before.get());
  }
  template <class T>
  const T* After() const {
    return static_cast<const T*>(after.get());
  }
};

// Whether the pod is bound or nominated to a node. Other pods occupy no capacity, so their events do not make
// rejected pods schedulable.
inline bool IsBoundOrNominated(const api::Pod& pod) {
  return !pod.spec.node_name.empty() || !pod.status.nominated_node_name.empty();
}

// A plugin's evaluation of an event: kQueue if the pod may be schedulable now.
enum class Hint : std::uint8_t { kSkip, kQueue };
constexpr Hint QueueIf(bool helps) { return helps ? Hint::kQueue : Hint::kSkip; }

// An event for which a plugin registers, and the function that evaluates each occurrence. Without a function,
// and after an error, which is logged, the result is kQueue.
struct EventRegistration {
  using HintFunction =
      std::function<Expected<Hint>(const cluster::PodInfo& waiting, const EventObjects& objects)>;

  EventRegistration(EventResource resource, ActionMask action, HintFunction hint = nullptr)
      : event{resource, action, ""}, hint(std::move(hint)) {}

  ClusterEvent event;
  HintFunction hint;
};

// Creates a registration whose function has a typed signature: it receives the waiting pod and the object
// before and after (null: created or deleted), of the type that belongs to the resource.
//   WhenNode(kAdd | kUpdateNodeTaint, [this](const PodInfo& pod, const api::Node* before, const api::Node*
//   after) { ... })
template <class T, class HintFunction>
EventRegistration When(EventResource resource, ActionMask action, HintFunction hint) {
  static_assert(
      std::is_invocable_r_v<Expected<Hint>, HintFunction, const cluster::PodInfo&, const T*, const T*>,
      "a hint is called with (const PodInfo& waiting, const Object* before, const Object* after)");
  return {resource, action,
          [hint = std::move(hint)](const cluster::PodInfo& waiting, const EventObjects& objects)
              -> Expected<Hint> { return hint(waiting, objects.Before<T>(), objects.After<T>()); }};
}
// For events of nodes.
template <class HintFunction>
EventRegistration WhenNode(ActionMask action, HintFunction hint) {
  return When<api::Node>(EventResource::kNode, action, std::move(hint));
}
// For events of pods that are on a node.
template <class HintFunction>
EventRegistration WhenAssignedPod(ActionMask action, HintFunction hint) {
  return When<api::Pod>(EventResource::kAssignedPod, action, std::move(hint));
}
// For updates of the waiting pod itself.
template <class HintFunction>
EventRegistration WhenTargetPod(ActionMask action, HintFunction hint) {
  return When<api::Pod>(EventResource::kTargetPod, action, std::move(hint));
}

}  // namespace berth::framework
