#include "tools/explain/shape_groups.hpp"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <string_view>
#include <utility>

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
std::size_t HashOf(const api::Pod& pod) {
  std::size_t hash = 0;
  boost::hash_combine(hash, explanation::OwnerOf(pod));
  boost::hash_combine(hash, pod.metadata.ns.str());
  boost::hash_combine(hash, pod.status.nominated_node_name.str());
  for (const auto& [_, value] : pod.metadata.labels) boost::hash_combine(hash, std::string_view(value));
  if (pod.metadata.annotations) {
    for (const auto& [_, value] : *pod.metadata.annotations)
      boost::hash_combine(hash, std::string_view(value));
  }
  for (const api::Container& container : std::as_const(pod.spec.containers)) {
    boost::hash_combine(hash, std::string_view(container.image));
    for (const auto& [_, amount] : container.resources.requests) boost::hash_combine(hash, amount.Hash());
  }
  return hash;
}

bool AreAlike(const api::Pod& a, const api::Pod& b) {
  return explanation::OwnerOf(a) == explanation::OwnerOf(b) &&
         a.status.nominated_node_name == b.status.nominated_node_name && cluster::SameShape(a, b);
}

}  // namespace

std::vector<std::vector<api::PodPtr>> GroupByShape(const std::vector<api::PodPtr>& pods) {
  std::vector<std::vector<api::PodPtr>> groups;
  boost::unordered_flat_map<std::size_t, std::vector<std::size_t>> by_hash;
  for (const api::PodPtr& pod : pods) {
    if (!pod->spec.node_name.empty() || DependsOnName(*pod)) {
      groups.push_back({pod});
      continue;
    }
    std::vector<std::size_t>& candidates = by_hash[HashOf(*pod)];
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
