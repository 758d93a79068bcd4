// Maps the event constants of berth_plugin.h to the framework's. Private to this module.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/framework/cluster_event.hpp"
#include "scheduler/plugin_host/berth_plugin.h"

namespace berth::plugin_host {

// Actions have the same bits in both.
static_assert(BERTH_ADDED == framework::kAdd && BERTH_DELETED == framework::kDelete &&
              BERTH_NODE_ALLOCATABLE == framework::kUpdateNodeAllocatable &&
              BERTH_NODE_LABEL == framework::kUpdateNodeLabel &&
              BERTH_NODE_TAINT == framework::kUpdateNodeTaint &&
              BERTH_NODE_CONDITION == framework::kUpdateNodeCondition &&
              BERTH_NODE_ANNOTATION == framework::kUpdateNodeAnnotation &&
              BERTH_POD_LABEL == framework::kUpdatePodLabel &&
              BERTH_POD_SCALED_DOWN == framework::kUpdatePodScaleDown &&
              BERTH_POD_SCALED_UP == framework::kUpdatePodScaleUp &&
              BERTH_POD_TOLERATION == framework::kUpdatePodToleration &&
              BERTH_UPDATED == framework::kUpdate && BERTH_ALL_ACTIONS == framework::kAllActions);

// nullopt: unknown constant.
inline std::optional<framework::EventResource> ResourceOf(std::uint32_t resource) {
  using framework::EventResource;
  switch (resource) {
    case BERTH_ON_ASSIGNED_POD:
      return EventResource::kAssignedPod;
    case BERTH_ON_TARGET_POD:
      return EventResource::kTargetPod;
    case BERTH_ON_UNSCHEDULED_POD:
      return EventResource::kUnscheduledPod;
    case BERTH_ON_NODE:
      return EventResource::kNode;
    case BERTH_ON_PERSISTENT_VOLUME:
      return EventResource::kPersistentVolume;
    case BERTH_ON_PERSISTENT_VOLUME_CLAIM:
      return EventResource::kPersistentVolumeClaim;
    case BERTH_ON_STORAGE_CLASS:
      return EventResource::kStorageClass;
    case BERTH_ON_CSI_NODE:
      return EventResource::kCSINode;
    case BERTH_ON_MEASUREMENT:
      return EventResource::kPluginState;
    case BERTH_ON_ANYTHING:
      return EventResource::kAny;
    default:
      return std::nullopt;
  }
}

}  // namespace berth::plugin_host
