// Kubernetes objects as plain values: every kind that a scheduler watches.
#pragma once

#include "api/devices.hpp"
#include "api/meta.hpp"
#include "api/node.hpp"
#include "api/pod.hpp"
#include "api/storage.hpp"
#include "api/workloads.hpp"

namespace berth::api {

// All of them, for what is done once per kind. Each has `kKind`, its name, `kNamespaced`, and `metadata`.
template <class... T>
struct KindList {
  // each.template operator()<T>() for every kind, in this order.
  template <class Each>
  static void ForEach(Each&& each) {
    (each.template operator()<T>(), ...);
  }
};
using AllKinds =
    KindList<Node, Pod, Namespace, PersistentVolume, PersistentVolumeClaim, StorageClass, CSINode, CSIDriver,
             CSIStorageCapacity, VolumeAttachment, Service, ReplicationController, ReplicaSet, StatefulSet,
             PodDisruptionBudget, DeviceClass, ResourceClaim, ResourceSlice, DeviceTaintRule>;

}  // namespace berth::api
