#include "kubernetes/api/dump.hpp"

#include "kubernetes/api/external_groups.hpp"

namespace berth::api {

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
