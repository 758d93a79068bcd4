#include "kubernetes/api/dump.hpp"

#include <algorithm>
#include <string_view>

#include "kubernetes/api/external_groups.hpp"

namespace berth::api {
namespace {

// The API group of the kinds outside the core group (client::kResources lists them too, but depends on this
// module).
struct GroupOfKind {
  std::string_view kind, group;
};
constexpr GroupOfKind kGroups[] = {
    {"ReplicaSet", "apps"},
    {"StatefulSet", "apps"},
    {"PodDisruptionBudget", "policy"},
    {"StorageClass", "storage.k8s.io"},
    {"CSINode", "storage.k8s.io"},
    {"CSIDriver", "storage.k8s.io"},
    {"CSIStorageCapacity", "storage.k8s.io"},
    {"VolumeAttachment", "storage.k8s.io"},
    {"DeviceClass", "resource.k8s.io"},
    {"ResourceClaim", "resource.k8s.io"},
    {"ResourceSlice", "resource.k8s.io"},
    {"DeviceTaintRule", "resource.k8s.io"},
    {"PodGroup", "scheduling.k8s.io"},
    {"CompositePodGroup", "scheduling.k8s.io"},
    {"ElasticQuota", "scheduling.x-k8s.io"},
    {"ElasticQuota", "scheduling.sigs.k8s.io"},  // Koordinator's, read with `hierarchy: Koordinator`
    {"NodeResourceTopology", "topology.node.k8s.io"},
    {"PriorityClass", "scheduling.k8s.io"},
};

// False for the objects of other projects whose kind has the same name, such as Node of longhorn.io. Files
// written by hand may have no apiVersion.
bool HasGroupOfItsKind(const Document& document) {
  return document.group.empty() || std::ranges::any_of(kGroups, [&](const GroupOfKind& known) {
           return known.kind == document.kind && known.group == document.group;
         });
}

}  // namespace

Expected<void> Dump::Add(const Document& document) {
  Expected<void> added;
  bool external = false;
  ExternalGroupKinds::ForEach([&]<class T>() {
    if (document.kind != T::kKind || document.group != T::kGroup) return;
    external = true;
    added = AddGroup<T>(document.json);
  });
  if (external || !HasGroupOfItsKind(document)) return added;
  AllKinds::ForEach([&]<class T>() {
    if (document.kind == T::kKind) added = AddAs<T>(document.json);
  });
  return added;
}

template <class T>
Expected<void> Dump::AddGroup(std::string_view json) {
  BERTH_TRY(const T object, decoder_.Object<T>(json));
  if (object.metadata.name.empty()) return Invalid("metadata.name: Required value");
  PodGroupPtr group = ToPodGroup(object);
  std::get<Objects<PodGroup>>(objects_).insert_or_assign(group->metadata.Key(), std::move(group));
  return {};
}

template <class T>
Expected<void> Dump::AddAs(std::string_view json) {
  BERTH_TRY(T object, decoder_.Object<T>(json));
  if (object.metadata.name.empty()) return Invalid("metadata.name: Required value");
  ApplyDefaults(object);
  if constexpr (std::is_same_v<T, Pod>) {
    // Pods are identified by their uid.
    if (object.metadata.uid.empty()) object.metadata.uid = "made-up-for-" + object.metadata.Key();
  }
  auto shared = std::make_shared<const T>(std::move(object));
  std::get<Objects<T>>(objects_).insert_or_assign(shared->metadata.Key(), shared);
  return {};
}

}  // namespace berth::api
