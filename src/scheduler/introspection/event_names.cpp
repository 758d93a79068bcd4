#include "scheduler/introspection/event_names.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace berth::introspection {
namespace {

using framework::EventResource;

constexpr std::array<std::string_view, 20> kResources = {"AssignedPod",      "TargetPod",
                                                         "UnscheduledPod",   "Node",
                                                         "PersistentVolume", "PersistentVolumeClaim",
                                                         "StorageClass",     "CSINode",
                                                         "CSIDriver",        "CSIStorageCapacity",
                                                         "VolumeAttachment", "DeviceClass",
                                                         "ResourceClaim",    "ResourceSlice",
                                                         "PodGroup",         "CompositePodGroup",
                                                         "ElasticQuota",     "NodeResourceTopology",
                                                         "PluginState",      "any"};
static_assert(static_cast<std::size_t>(EventResource::kAny) == kResources.size() - 1);

// In the order of the bits.
constexpr std::array<std::string_view, 15> kActions = {"Add",
                                                       "Delete",
                                                       "UpdateNodeAllocatable",
                                                       "UpdateNodeLabel",
                                                       "UpdateNodeTaint",
                                                       "UpdateNodeCondition",
                                                       "UpdateNodeAnnotation",
                                                       "UpdateNodeDeclaredFeature",
                                                       "UpdateNodePreemptionPolicy",
                                                       "UpdatePodLabel",
                                                       "UpdatePodScaleDown",
                                                       "UpdatePodScaleUp",
                                                       "UpdatePodToleration",
                                                       "UpdatePodSchedulingGatesEliminated",
                                                       "UpdatePodGeneratedResourceClaim"};
static_assert(framework::kAllActions == (1u << kActions.size()) - 1);

}  // namespace

std::string DescribeEvent(const framework::ClusterEvent& event) {
  std::string text(kResources[static_cast<std::size_t>(event.resource)]);
  text += ':';
  if (event.action == framework::kAllActions) return text + " any change";
  const bool any_update = (event.action & framework::kUpdate) == framework::kUpdate;
  for (std::size_t bit = 0; bit < kActions.size(); ++bit) {
    const framework::ActionMask mask = 1u << bit;
    if ((event.action & mask) == 0 || (any_update && (mask & framework::kUpdate) != 0)) continue;
    if (text.back() != ':') text += ',';
    text.append(" ").append(kActions[bit]);
  }
  if (any_update) text.append(text.back() == ':' ? " " : ", ").append("Update");
  return text;
}

}  // namespace berth::introspection
