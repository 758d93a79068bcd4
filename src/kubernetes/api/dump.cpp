#include "kubernetes/api/dump.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "kubernetes/api/api_versions.hpp"
#include "kubernetes/api/external_groups.hpp"

namespace berth::api {
namespace {

// Of the ElasticQuotas that `hierarchy: Koordinator` reads.
constexpr std::string_view kKoordinatorGroup = "scheduling.sigs.k8s.io";

// False for the objects of other projects whose kind has the same name, such as Node of longhorn.io. Files
// written by hand may have no apiVersion.
template <class T>
bool IsOfKind(const Document& document) {
  if (document.kind != T::kKind) return false;
  if (std::is_same_v<T, ElasticQuota> && document.group == kKoordinatorGroup) return true;
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
    if (IsOfKind<T>(document)) added = AddAs<T>(document);
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

// The two kinds have different meanings, and a scheduler reads one of them: neither may replace the other.
Expected<void> Dump::CheckQuotaGroup(const std::string& key, std::string_view group) {
  if (group.empty()) return {};
  const std::string& known = quota_groups_.try_emplace(key, group).first->second;
  if (known == group) return {};
  return Invalid(fmt::format(
      "metadata.name: \"{}\" is also an ElasticQuota of {}, which is kept; expected quotas of one group, got "
      "{}, too: leave out those that the scheduler does not read ({} with hierarchy: Koordinator)",
      key, known, group, kKoordinatorGroup));
}

template <class T>
Expected<void> Dump::AddAs(const Document& document) {
  BERTH_TRY(T object, decoder_.Object<T>(document.json));
  if (object.metadata.name.empty()) return Invalid("metadata.name: Required value");
  if constexpr (std::is_same_v<T, ElasticQuota>)
    BERTH_RETURN_IF_ERROR(CheckQuotaGroup(object.metadata.Key(), document.group));
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
