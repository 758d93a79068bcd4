#include "tools/explain/shape_groups.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text_map.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/explanation/explain_pod.hpp"

namespace berth::explain {
namespace {

bool DependsOnName(const api::Pod& pod) {
  return std::ranges::any_of(std::as_const(pod.spec.volumes), [](const api::Volume& volume) {
    return volume.source == api::Volume::Source::kEphemeral;
  });
}

// Equal for pods that belong to one group. Contains what usually differs between the pods of one owner: those
// of a StatefulSet have a label each.
std::string KeyOf(const api::Pod& pod) {
  std::string key;
  const auto add = [&](std::string_view part) {
    key += part;
    key += '\n';
  };
  add(explanation::OwnerOf(pod));
  add(pod.metadata.ns.str());
  add(pod.status.nominated_node_name.str());
  for (const auto& [_, value] : pod.metadata.labels) add(value);
  if (pod.metadata.annotations) {
    for (const auto& [_, value] : *pod.metadata.annotations) add(value);
  }
  for (const api::Container& container : std::as_const(pod.spec.containers)) {
    add(container.image);
    for (const auto& [_, amount] : container.resources.requests) add(std::to_string(amount.Hash()));
  }
  return key;
}

bool AreAlike(const api::Pod& a, const api::Pod& b) {
  return explanation::OwnerOf(a) == explanation::OwnerOf(b) &&
         a.status.nominated_node_name == b.status.nominated_node_name && cluster::SameShape(a, b);
}

}  // namespace

std::vector<std::vector<api::PodPtr>> GroupByShape(const std::vector<api::PodPtr>& pods) {
  std::vector<std::vector<api::PodPtr>> groups;
  FlatTextMap<std::vector<std::size_t>> by_key;
  for (const api::PodPtr& pod : pods) {
    if (!pod->spec.node_name.empty() || DependsOnName(*pod)) {
      groups.push_back({pod});
      continue;
    }
    std::vector<std::size_t>& candidates = by_key[KeyOf(*pod)];
    const auto found = std::ranges::find_if(
        candidates, [&](std::size_t group) { return AreAlike(*pod, *groups[group].front()); });
    if (found != candidates.end()) {
      groups[*found].push_back(pod);
      continue;
    }
    candidates.push_back(groups.size());
    groups.push_back({pod});
  }
  return groups;
}

}  // namespace berth::explain
