// The API group and version of each kind.
#pragma once

#include <string_view>

#include "kubernetes/api/objects.hpp"

namespace berth::api {

// "GROUP/VERSION", without a group for the core group. The newest version of Kubernetes v1.37 and of the
// other projects; readers of older ones accept it.
template <class T>
inline constexpr std::string_view kApiVersion = "v1";
template <>
inline constexpr std::string_view kApiVersion<StorageClass> = "storage.k8s.io/v1";
template <>
inline constexpr std::string_view kApiVersion<CSINode> = "storage.k8s.io/v1";
template <>
inline constexpr std::string_view kApiVersion<CSIDriver> = "storage.k8s.io/v1";
template <>
inline constexpr std::string_view kApiVersion<CSIStorageCapacity> = "storage.k8s.io/v1";
template <>
inline constexpr std::string_view kApiVersion<VolumeAttachment> = "storage.k8s.io/v1";
template <>
inline constexpr std::string_view kApiVersion<ReplicaSet> = "apps/v1";
template <>
inline constexpr std::string_view kApiVersion<StatefulSet> = "apps/v1";
template <>
inline constexpr std::string_view kApiVersion<PodDisruptionBudget> = "policy/v1";
template <>
inline constexpr std::string_view kApiVersion<DeviceClass> = "resource.k8s.io/v1";
template <>
inline constexpr std::string_view kApiVersion<ResourceClaim> = "resource.k8s.io/v1";
template <>
inline constexpr std::string_view kApiVersion<ResourceSlice> = "resource.k8s.io/v1";
template <>
inline constexpr std::string_view kApiVersion<DeviceTaintRule> = "resource.k8s.io/v1beta2";
template <>
inline constexpr std::string_view kApiVersion<PodGroup> = "scheduling.k8s.io/v1beta1";
template <>
inline constexpr std::string_view kApiVersion<CompositePodGroup> = "scheduling.k8s.io/v1alpha3";
template <>
inline constexpr std::string_view kApiVersion<ElasticQuota> = "scheduling.x-k8s.io/v1alpha1";
template <>
inline constexpr std::string_view kApiVersion<NodeResourceTopology> = "topology.node.k8s.io/v1alpha2";
template <>
inline constexpr std::string_view kApiVersion<PriorityClass> = "scheduling.k8s.io/v1";

// Empty for the core group.
template <class T>
constexpr std::string_view GroupOfKind() {
  const std::size_t slash = kApiVersion<T>.find('/');
  return slash == std::string_view::npos ? std::string_view() : kApiVersion<T>.substr(0, slash);
}

}  // namespace berth::api
