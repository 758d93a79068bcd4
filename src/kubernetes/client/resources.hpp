// The API resources that are watched: kube-scheduler v1.37.1's informers, with the versions of API servers
// 1.31 to 1.37.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace berth::client {

struct Resource {
  std::string_view kind;
  std::string_view plural;
  std::string_view group;                          // empty: the core group
  std::array<std::string_view, 3> versions{"v1"};  // the preferred one first; empty ones are ignored
  std::string_view feature_gate{};  // without this gate it is not watched; empty: always watched
  bool on_request = false;          // it is watched only if a plugin reads it

  // "podgroups.scheduling.x-k8s.io".
  std::string QualifiedName() const { return std::string(plural) + "." + std::string(group); }
  // Whether a scheduler with these gates (config::FeatureGates) watches it, if its plugins request the
  // resources with these qualified names.
  template <class Gates>
  bool IsWatched(const Gates& gates, std::span<const std::string> requested) const {
    if (on_request) return std::ranges::find(requested, QualifiedName()) != requested.end();
    return feature_gate.empty() || gates.Enabled(feature_gate);
  }
  // "/api/v1" or "/apis/<group>/<version>".
  static std::string GroupPath(std::string_view group, std::string_view version) {
    if (group.empty()) return "/api/" + std::string(version);
    return "/apis/" + std::string(group) + "/" + std::string(version);
  }
};

inline constexpr std::array<Resource, 24> kResources = {{
    {"Node", "nodes", ""},
    {"Pod", "pods", ""},
    {"Namespace", "namespaces", ""},
    {"PersistentVolume", "persistentvolumes", ""},
    {"PersistentVolumeClaim", "persistentvolumeclaims", ""},
    {"Service", "services", ""},
    {"ReplicationController", "replicationcontrollers", ""},
    {"ReplicaSet", "replicasets", "apps"},
    {"StatefulSet", "statefulsets", "apps"},
    {"PodDisruptionBudget", "poddisruptionbudgets", "policy"},
    {"StorageClass", "storageclasses", "storage.k8s.io"},
    {"CSINode", "csinodes", "storage.k8s.io"},
    {"CSIDriver", "csidrivers", "storage.k8s.io"},
    {"CSIStorageCapacity", "csistoragecapacities", "storage.k8s.io"},
    {"VolumeAttachment", "volumeattachments", "storage.k8s.io"},
    {"DeviceClass", "deviceclasses", "resource.k8s.io", {"v1", "v1beta2", "v1beta1"}},
    {"ResourceClaim", "resourceclaims", "resource.k8s.io", {"v1", "v1beta2", "v1beta1"}},
    {"ResourceSlice", "resourceslices", "resource.k8s.io", {"v1", "v1beta2", "v1beta1"}},
    {"DeviceTaintRule", "devicetaintrules", "resource.k8s.io", {"v1", "v1beta2"}},
    {"PodGroup", "podgroups", "scheduling.k8s.io", {"v1beta1"}, "GenericWorkload"},
    {"CompositePodGroup", "compositepodgroups", "scheduling.k8s.io", {"v1alpha3"}, "CompositePodGroup"},
    {"ElasticQuota", "elasticquotas", "scheduling.x-k8s.io", {"v1alpha1"}, "", true},
    {"NodeResourceTopology", "noderesourcetopologies", "topology.node.k8s.io", {"v1alpha2"}, "", true},
    {"PriorityClass", "priorityclasses", "scheduling.k8s.io", {"v1"}, "", true},
}};

// Groups of pods of other projects, and Jobs (kubernetes/api/external_groups.hpp).
inline constexpr std::array<Resource, 3> kExternalResources = {{
    {"PodGroup", "podgroups", "scheduling.x-k8s.io", {"v1alpha1"}, "", true},
    {"PodGroup", "podgroups", "scheduling.volcano.sh", {"v1beta1"}, "", true},
    {"Job", "jobs", "batch", {"v1"}, "", true},
}};

// Other resources with the objects of a kind of kResources: Koordinator's ElasticQuotas.
inline constexpr std::array<Resource, 1> kOtherSources = {{
    {"ElasticQuota", "elasticquotas", "scheduling.sigs.k8s.io", {"v1alpha1"}, "", true},
}};

template <class T>
constexpr const Resource& ResourceOf() {
  if constexpr (requires { T::kSource; }) {
    for (const Resource& resource : kExternalResources) {
      if (resource.kind == T::kKind && resource.group == T::kGroup) return resource;
    }
  } else {
    for (const Resource& resource : kResources) {
      if (resource.kind == T::kKind) return resource;
    }
  }
  throw "every kind has its line";  // in a constant expression: does not compile
}

// The resource from which the kind is read: ResourceOf if wanted(const Resource&) or if nothing is wanted,
// else one of kOtherSources.
template <class T, class Wanted>
const Resource& SourceOf(Wanted&& wanted) {
  constexpr const Resource& standard = ResourceOf<T>();
  if (wanted(standard)) return standard;
  for (const Resource& resource : kOtherSources) {
    if (resource.kind == T::kKind && wanted(resource)) return resource;
  }
  return standard;
}

}  // namespace berth::client
