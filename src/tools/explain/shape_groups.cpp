#include "tools/explain/shape_groups.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/explanation/explain_pod.hpp"

namespace berth::explain {
namespace {

bool DependsOnName(const api::Pod& pod) {
  return std::ranges::any_of(std::as_const(pod.spec.volumes), [](const api::Volume& volume) {
    return volume.source == api::Volume::Source::kEphemeral;
  });
}

}  // namespace

std::vector<std::vector<api::PodPtr>> GroupByShape(const std::vector<api::PodPtr>& pods) {
  std::vector<std::vector<api::PodPtr>> groups;
  std::map<std::string, std::vector<std::size_t>> of_owner;
  for (const api::PodPtr& pod : pods) {
    std::vector<std::size_t>& candidates = of_owner[explanation::OwnerOf(*pod)];
    const auto same = [&](std::size_t group) {
      const api::Pod& first = *groups[group].front();
      return pod->spec.node_name.empty() && first.spec.node_name.empty() && !DependsOnName(*pod) &&
             pod->status.nominated_node_name == first.status.nominated_node_name &&
             pod->metadata.deleting() == first.metadata.deleting() && cluster::SameShape(*pod, first);
    };
    const auto found = std::ranges::find_if(candidates, same);
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
