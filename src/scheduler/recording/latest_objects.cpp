#include "scheduler/recording/latest_objects.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace berth::recording {

void LatestObjects::Apply(const ports::ClusterChange& change) {
  using Change = std::pair<api::AnyObject, api::AnyObject>;
  const auto [before, after] =
      std::visit([](const auto& content) { return Change(content.before, content.after); }, change);
  ByKey& of_kind = by_kind_[change.index()];
  if (!after) {
    of_kind.erase(before.metadata().Key());
  } else {
    of_kind[after.metadata().Key()] = after;
  }
}

std::vector<const api::AnyObject*> LatestObjects::Sorted(const ByKey& objects) {
  std::vector<const ByKey::value_type*> entries;
  entries.reserve(objects.size());
  for (const ByKey::value_type& entry : objects) entries.push_back(&entry);
  std::ranges::sort(entries, {}, [](const auto* entry) -> const std::string& { return entry->first; });
  std::vector<const api::AnyObject*> sorted(entries.size());
  std::ranges::transform(entries, sorted.begin(), [](const auto* entry) { return &entry->second; });
  return sorted;
}

}  // namespace berth::recording
