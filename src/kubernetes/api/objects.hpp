// Kubernetes objects as plain values: all kinds that a scheduler watches.
#pragma once

#include "kubernetes/api/devices.hpp"
#include "kubernetes/api/elastic_quota.hpp"
#include "kubernetes/api/meta.hpp"
#include "kubernetes/api/node.hpp"
#include "kubernetes/api/node_resource_topology.hpp"
#include "kubernetes/api/pod.hpp"
#include "kubernetes/api/pod_group.hpp"
#include "kubernetes/api/priority_class.hpp"
#include "kubernetes/api/storage.hpp"
#include "kubernetes/api/workloads.hpp"

namespace berth::api {

// All kinds, for work that is repeated per kind. Each has `kKind` (its name), `kNamespaced` and `metadata`.
template <class... T>
struct KindList {
  // Calls each.template operator()<T>() for every kind, in this order.
  template <class Each>
  static void ForEach(Each&& each) {
    (each.template operator()<T>(), ...);
  }
};
using AllKinds =
    KindList<Node, Pod, Namespace, PersistentVolume, PersistentVolumeClaim, StorageClass, CSINode, CSIDriver,
             CSIStorageCapacity, VolumeAttachment, Service, ReplicationController, ReplicaSet, StatefulSet,
             PodDisruptionBudget, DeviceClass, ResourceClaim, ResourceSlice, DeviceTaintRule, PodGroup,
             CompositePodGroup, ElasticQuota, NodeResourceTopology, PriorityClass>;

}  // namespace berth::api
