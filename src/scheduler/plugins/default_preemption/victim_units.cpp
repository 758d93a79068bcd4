#include "scheduler/plugins/default_preemption/victim_units.hpp"

#include <algorithm>

#include "base/text_map.hpp"

namespace berth::plugins {
namespace {

std::int64_t StartOf(const cluster::PlacedPod& pod) {
  const std::int64_t start = pod.pod->status.start_time;
  return start == 0 ? INT64_MAX : start;
}

bool FirstByKey(const cluster::PlacedPod& a, const cluster::PlacedPod& b) {
  const api::ObjectMeta& x = a.pod->metadata;
  const api::ObjectMeta& y = b.pod->metadata;
  return x.ns == y.ns ? x.name < y.name : x.Key() < y.Key();
}

}  // namespace

bool MoreImportant(const VictimUnit& a, const VictimUnit& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.of_group != b.of_group) return a.of_group;
  if (a.pods.size() != b.pods.size()) return a.pods.size() > b.pods.size();
  if (a.started != b.started) return a.started < b.started;
  return FirstByKey(*a.pods.front().pod, *b.pods.front().pod);
}

std::int32_t VictimUnits::PriorityOf(const api::Pod& pod) const {
  const auto key = groups_.KeyOf(pod);
  const api::PodGroupPtr group = key ? groups_.FindObject(*key) : nullptr;
  return group == nullptr ? pod.spec.priority : group->priority;
}

std::vector<VictimUnit> VictimUnits::Below(std::int32_t priority) const {
  std::vector<VictimUnit> units;
  TextMap<std::size_t> of_group;  // the unit of a group that is disrupted as a whole
  nodes_.all().ForEach([&](std::size_t index) {
    const auto row = static_cast<cluster::Row>(index);
    for (cluster::PlacedPod* pod : nodes_.pods(row)) {
      const auto key = groups_.KeyOf(*pod->pod);
      const api::PodGroupPtr group = key ? groups_.FindObject(*key) : nullptr;
      const std::int32_t own = group == nullptr ? pod->pod->spec.priority : group->priority;
      if (own >= priority) continue;
      if (group != nullptr && group->disrupted_as_a_unit) {
        const auto [known, added] = of_group.try_emplace(*key, units.size());
        if (!added) {
          VictimUnit& unit = units[known->second];
          unit.pods.push_back({row, pod});
          unit.started = std::min(unit.started, StartOf(*pod));
          continue;
        }
      }
      units.push_back({own, key.has_value(), StartOf(*pod), {{row, pod}}});
    }
  });
  for (const auto& [key, unit] : of_group) {
    std::ranges::sort(units[unit].pods,
                      [](const auto& a, const auto& b) { return FirstByKey(*a.pod, *b.pod); });
  }
  return units;
}

}  // namespace berth::plugins
