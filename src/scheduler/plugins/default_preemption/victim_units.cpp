#include "scheduler/plugins/default_preemption/victim_units.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/plugins/default_preemption/importance.hpp"

namespace berth::plugins {

using cluster::PodGroups;

namespace {

void Join(VictimUnit& unit, cluster::Row row, cluster::PlacedPod& pod) {
  unit.pods.push_back({row, &pod});
  unit.started = std::min(unit.started, Importance::EntryOf(pod).started);
}

// Whether the pod is terminating because of a preemption.
bool IsBeingPreempted(const api::Pod& pod) {
  if (!pod.metadata.deleting()) return false;
  const auto& conditions = pod.status.conditions;
  const auto found = std::ranges::find(conditions, "DisruptionTarget", &api::PodCondition::type);
  return found != conditions.end() && found->status == "True" && found->reason == "PreemptionByScheduler";
}

// Members of groups of other projects have a priority each.
std::int32_t PriorityIn(const api::PodGroup* group, const api::Pod& pod) {
  return group == nullptr || group->external != nullptr ? pod.spec.priority : group->priority;
}

void SortByKey(VictimUnit& unit) {
  std::ranges::sort(unit.pods,
                    [](const auto& a, const auto& b) { return Importance::FirstByKey(*a.pod, *b.pod); });
}

}  // namespace

bool MoreImportant(const VictimUnit& a, const VictimUnit& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.of_group != b.of_group) return a.of_group;
  if (a.pods.size() != b.pods.size()) return a.pods.size() > b.pods.size();
  if (a.started != b.started) return a.started < b.started;
  return Importance::FirstByKey(*a.pods.front().pod, *b.pods.front().pod);
}

void SortForReprieve(std::vector<VictimUnit>& units, DisruptionBudgets& budgets) {
  std::ranges::sort(units, MoreImportant);
  budgets.Begin();
  for (VictimUnit& unit : units) {
    unit.violations = std::ranges::count_if(
        unit.pods, [&](const VictimUnit::Victim& victim) { return budgets.Violates(*victim.pod->pod); });
  }
  std::ranges::sort(units, [](const VictimUnit& a, const VictimUnit& b) {
    const bool violating = a.violations > 0;
    return violating != (b.violations > 0) ? violating : MoreImportant(a, b);
  });
}

bool VictimUnits::AnyBeingPreempted(cluster::Row row, std::int32_t priority) const {
  return std::ranges::any_of(nodes_.pods(row), [&](const cluster::PlacedPod* pod) {
    return IsBeingPreempted(*pod->pod) && PriorityOf(*pod->pod) < priority;
  });
}

std::int32_t VictimUnits::PriorityOf(const api::Pod& pod) const {
  const auto key = groups_.KeyOf(pod);
  const api::PodGroupPtr group = key ? groups_.FindObject(*key) : nullptr;
  return PriorityIn(group.get(), pod);
}

std::vector<VictimUnit> VictimUnits::Below(std::int32_t priority) const {
  std::vector<VictimUnit> units;
  TextMap<std::size_t> of_group;  // the unit of a group that is disrupted as a whole
  ForEachPod([&](cluster::Row row, cluster::PlacedPod& pod, const std::optional<std::string>& key,
                 const api::PodGroup* group) {
    const std::int32_t own = PriorityIn(group, *pod.pod);
    if (own >= priority) return;
    if (group == nullptr || !group->disrupted_as_a_unit) {
      units.push_back({own, key.has_value(), Importance::EntryOf(pod).started, {{row, &pod}}});
      return;
    }
    const auto [known, added] = of_group.try_emplace(*key, units.size());
    if (added) units.push_back({own, true, INT64_MAX, {}});
    Join(units[known->second], row, pod);
  });
  for (const auto& [key, unit] : of_group) SortByKey(units[unit]);
  return units;
}

std::optional<std::string> VictimUnits::MissingNodeOf(const PodGroups::Group& group) const {
  for (const auto& [uid, member] : group.members) {
    if (member.stage == PodGroups::Stage::kUnscheduled) continue;
    if (nodes_.Find(symbols_.node_names.Find(member.node)) != cluster::kNoRow) continue;
    return fmt::format(
        "failed to get node info for node \"{0}\" from snapshot: nodeinfo not found for node name \"{0}\"",
        member.node);
  }
  return std::nullopt;
}

std::optional<std::string> VictimUnits::MissingNode() const {
  const auto is_on_a_node = [&](const auto& member) {
    return member.second.stage != PodGroups::Stage::kUnscheduled &&
           nodes_.Find(symbols_.node_names.Find(member.second.node)) != cluster::kNoRow;
  };
  std::optional<std::string> error;
  std::string_view first;
  groups_.ForEach([&](const std::string& key, const PodGroups::Group& group) {
    if (group.object == nullptr || !group.object->disrupted_as_a_unit || (error && key > first)) return;
    auto missing = MissingNodeOf(group);
    if (!missing || std::ranges::none_of(group.members, is_on_a_node)) return;
    error = std::move(missing);
    first = key;
  });
  return error;
}

std::optional<std::string> VictimUnits::MissingNodeOf(cluster::Row row) const {
  for (const cluster::PlacedPod* pod : nodes_.pods(row)) {
    const auto key = groups_.KeyOf(*pod->pod);
    const PodGroups::Group* group = key ? groups_.Find(*key) : nullptr;
    if (group == nullptr || group->object == nullptr || !group->object->disrupted_as_a_unit) continue;
    if (auto missing = MissingNodeOf(*group)) return missing;
  }
  return std::nullopt;
}

bool VictimUnits::AnyMemberOn(cluster::Row row) const {
  if (groups_.size() == 0) return false;  // preemption asks for every node
  return std::ranges::any_of(nodes_.pods(row),
                             [&](const auto* pod) { return groups_.KeyOf(*pod->pod).has_value(); });
}

std::vector<VictimUnit> VictimUnits::BelowOn(cluster::Row row, std::int32_t priority) {
  std::vector<VictimUnit> units;
  std::vector<std::string> listed;
  for (cluster::PlacedPod* pod : nodes_.pods(row)) {
    const auto key = groups_.KeyOf(*pod->pod);
    const api::PodGroupPtr group = key ? groups_.FindObject(*key) : nullptr;
    const std::int32_t own = PriorityIn(group.get(), *pod->pod);
    if (own >= priority) continue;
    if (group == nullptr || !group->disrupted_as_a_unit) {
      units.push_back({own, key.has_value(), Importance::EntryOf(*pod).started, {{row, pod}}});
    } else if (std::ranges::find(listed, *key) == listed.end()) {
      listed.push_back(*key);
      units.push_back(WholeGroups().at(*key));
    }
  }
  return units;
}

const VictimUnits::ByGroup& VictimUnits::WholeGroups() {
  if (whole_groups_) return *whole_groups_;
  whole_groups_.emplace();
  ForEachPod([&](cluster::Row row, cluster::PlacedPod& pod, const std::optional<std::string>& key,
                 const api::PodGroup* group) {
    if (group == nullptr || !group->disrupted_as_a_unit) return;
    Join(whole_groups_->try_emplace(*key, VictimUnit{group->priority, true, INT64_MAX, {}}).first->second,
         row, pod);
  });
  for (auto& [key, unit] : *whole_groups_) SortByKey(unit);
  return *whole_groups_;
}

template <class Visit>
void VictimUnits::ForEachPod(Visit&& visit) const {
  nodes_.all().ForEach([&](std::size_t index) {
    const auto row = static_cast<cluster::Row>(index);
    for (cluster::PlacedPod* pod : nodes_.pods(row)) {
      const auto key = groups_.KeyOf(*pod->pod);
      const api::PodGroupPtr group = key ? groups_.FindObject(*key) : nullptr;
      visit(row, *pod, key, group.get());
    }
  });
}

}  // namespace berth::plugins
