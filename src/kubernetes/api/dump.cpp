#include "kubernetes/api/dump.hpp"

#include <type_traits>

#include "kubernetes/api/api_versions.hpp"
#include "kubernetes/api/external_groups.hpp"

namespace berth::api {
namespace {

// False for the objects of other projects whose kind has the same name, such as Node of longhorn.io. Files
// written by hand may have no apiVersion.
template <class T>
bool IsOfKind(const Document& document) {
  if (document.kind != T::kKind) return false;
  // Koordinator's, read with `hierarchy: Koordinator`.
  if (std::is_same_v<T, ElasticQuota> && document.group == "scheduling.sigs.k8s.io") return true;
  return document.group.empty() || document.group == GroupOfKind<T>();
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
  if (external) return added;
  AllKinds::ForEach([&]<class T>() {
    if (IsOfKind<T>(document)) added = AddAs<T>(document.json);
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
