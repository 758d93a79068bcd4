// Cluster events of kinds other than pods and nodes: added, updated or deleted, without further distinction.
#include "scheduler/cycle/cluster_events.hpp"

namespace berth::cycle {
namespace {

using framework::ClusterEvent;
using framework::EventResource;

struct Labels {
  EventResource resource;
  const char *add, *update, *remove;
};

// Kinds without an entry have no event.
template <class T>
constexpr std::optional<Labels> kLabels{};
#define BERTH_EVENTS(Kind, group)                     \
  template <>                                         \
  constexpr std::optional<Labels> kLabels<api::Kind>{ \
      {EventResource::k##Kind, group #Kind "Add", group #Kind "Update", group #Kind "Delete"}};
BERTH_EVENTS(PersistentVolume, "")
BERTH_EVENTS(PersistentVolumeClaim, "")
BERTH_EVENTS(StorageClass, "storage.k8s.io/")
BERTH_EVENTS(CSINode, "storage.k8s.io/")
BERTH_EVENTS(CSIDriver, "storage.k8s.io/")
BERTH_EVENTS(CSIStorageCapacity, "storage.k8s.io/")
BERTH_EVENTS(VolumeAttachment, "storage.k8s.io/")
BERTH_EVENTS(DeviceClass, "resource.k8s.io/")
BERTH_EVENTS(ResourceClaim, "resource.k8s.io/")
BERTH_EVENTS(ResourceSlice, "resource.k8s.io/")
BERTH_EVENTS(PodGroup, "scheduling.k8s.io/")
BERTH_EVENTS(CompositePodGroup, "scheduling.k8s.io/")
#undef BERTH_EVENTS
template <>
constexpr std::optional<Labels> kLabels<api::ElasticQuota>{
    {EventResource::kElasticQuota, "elasticquotas.v1alpha1.scheduling.x-k8s.ioAdd",
     "elasticquotas.v1alpha1.scheduling.x-k8s.ioUpdate", "elasticquotas.v1alpha1.scheduling.x-k8s.ioDelete"}};
template <>
constexpr std::optional<Labels> kLabels<api::NodeResourceTopology>{
    {EventResource::kNodeResourceTopology, "noderesourcetopologies.v1alpha2.topology.node.k8s.ioAdd",
     "noderesourcetopologies.v1alpha2.topology.node.k8s.ioUpdate",
     "noderesourcetopologies.v1alpha2.topology.node.k8s.ioDelete"}};

}  // namespace

template <class T>
std::optional<ClusterEvent> EventOf(const ports::Change<T>& change) {
  if constexpr (std::is_same_v<T, api::DeviceTaintRule>) {
    return ClusterEvent{EventResource::kResourceSlice, framework::kUpdate,
                        "resource.k8s.io/ResourceSliceUpdate"};
  }
  constexpr auto labels = kLabels<T>;
  if (!labels) return std::nullopt;
  if (change.before == nullptr) return ClusterEvent{labels->resource, framework::kAdd, labels->add};
  if (change.after == nullptr) return ClusterEvent{labels->resource, framework::kDelete, labels->remove};
  return ClusterEvent{labels->resource, framework::kUpdate, labels->update};
}

#define BERTH_EVENT_OF(Kind) template std::optional<ClusterEvent> EventOf(const ports::Change<api::Kind>&);
BERTH_EVENT_OF(Namespace)
BERTH_EVENT_OF(PersistentVolume)
BERTH_EVENT_OF(PersistentVolumeClaim)
BERTH_EVENT_OF(StorageClass)
BERTH_EVENT_OF(CSINode)
BERTH_EVENT_OF(CSIDriver)
BERTH_EVENT_OF(CSIStorageCapacity)
BERTH_EVENT_OF(VolumeAttachment)
BERTH_EVENT_OF(Service)
BERTH_EVENT_OF(ReplicationController)
BERTH_EVENT_OF(ReplicaSet)
BERTH_EVENT_OF(StatefulSet)
BERTH_EVENT_OF(PodDisruptionBudget)
BERTH_EVENT_OF(DeviceClass)
BERTH_EVENT_OF(ResourceClaim)
BERTH_EVENT_OF(ResourceSlice)
BERTH_EVENT_OF(DeviceTaintRule)
BERTH_EVENT_OF(PodGroup)
BERTH_EVENT_OF(CompositePodGroup)
BERTH_EVENT_OF(ElasticQuota)
BERTH_EVENT_OF(NodeResourceTopology)
BERTH_EVENT_OF(PriorityClass)
#undef BERTH_EVENT_OF

}  // namespace berth::cycle
