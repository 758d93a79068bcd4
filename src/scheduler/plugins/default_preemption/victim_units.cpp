#include "scheduler/plugins/default_preemption/victim_units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

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

void SortByKey(VictimUnit& unit) {
  std::ranges::sort(unit.pods,
                    [](const auto& a, const auto& b) { return Importance::FirstByKey(*a.pod, *b.pod); });
}

}  // namespace

bool MoreImportant(const VictimUnit& a, const VictimUnit& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.rank != b.rank) return a.rank > b.rank;
  if (a.pods.size() != b.pods.size()) return a.pods.size() > b.pods.size();
  if (a.started != b.started) return a.started < b.started;
  return Importance::FirstByKey(*a.pods.front().pod, *b.pods.front().pod);
}

void SortForReprieve(std::vector<VictimUnit>& units, DisruptionBudgets& budgets) {
  std::ranges::sort(units, MoreImportant);
  budgets.Begin();
  for (VictimUnit& unit : units) {
    unit.violations = std::ranges::count_if(std::as_const(unit.pods), [&](const VictimUnit::Victim& victim) {
      return budgets.Violates(*victim.pod);
    });
  }
  std::ranges::sort(units, [](const VictimUnit& a, const VictimUnit& b) {
    const bool violating = a.violations > 0;
    return violating != (b.violations > 0) ? violating : MoreImportant(a, b);
  });
}

bool VictimUnits::AnyBeingPreempted(cluster::Row row, std::int32_t priority) const {
  return std::ranges::any_of(nodes_.pods(row), [&](const cluster::PlacedPod* pod) {
    return IsBeingPreempted(*pod->pod) && MembershipOf(*pod->pod).priority < priority;
  });
}

VictimUnits::Membership VictimUnits::MembershipOf(const api::Pod& pod) const {
  const auto group = groups_.KeyOf(pod);
  return group ? MembershipIn(*group, pod.spec.priority)
               : Membership{.priority = pod.spec.priority, .whole = {}};
}

// Members of groups of other projects have a priority each.
VictimUnits::Membership VictimUnits::MembershipIn(const std::string& group, std::int32_t priority) const {
  Membership of{.in_group = true, .priority = priority, .whole = {}, .rank = VictimUnit::Rank::kGroup};
  groups_.ForEachUp(group, [&](const std::string& at, const api::PodGroup& group) {
    if (group.external == nullptr) of.priority = group.priority;
    if (!group.disrupted_as_a_unit) return;
    of.whole = at;
    of.rank = group.composite ? VictimUnit::Rank::kComposite : VictimUnit::Rank::kGroup;
  });
  return of;
}

std::vector<VictimUnit> VictimUnits::Below(std::int32_t priority) const {
  std::vector<VictimUnit> units;
  TextMap<std::size_t> of_group;  // the unit of a group that is disrupted as a whole
  ForEachPod([&](cluster::Row row, cluster::PlacedPod& pod, const Membership& of) {
    if (of.priority >= priority) return;
    if (of.whole.empty()) {
      units.push_back({of.priority, of.rank, Importance::EntryOf(pod).started, {{row, &pod}}});
      return;
    }
    const auto [known, added] = of_group.try_emplace(of.whole, units.size());
    if (added) units.push_back({of.priority, of.rank, INT64_MAX, {}});
    Join(units[known->second], row, pod);
  });
  for (const auto& [key, unit] : of_group) SortByKey(units[unit]);
  return units;
}

std::optional<std::string> VictimUnits::MissingNodeIn(const std::string& whole) const {
  std::optional<std::string> missing;
  groups_.ForEachLeaf(whole, [&](const std::string&, const PodGroups::Group& group) {
    for (const auto& [uid, member] : group.members) {
      if (missing || member.stage == PodGroups::Stage::kUnscheduled || IsOnExistingNode(member)) continue;
      missing = fmt::format(
          "failed to get node info for node \"{0}\" from snapshot: nodeinfo not found for node name \"{0}\"",
          member.node);
    }
  });
  return missing;
}

bool VictimUnits::AnyOnExistingNode(const std::string& whole) const {
  bool any = false;
  groups_.ForEachLeaf(whole, [&](const std::string&, const PodGroups::Group& group) {
    any = any || std::ranges::any_of(group.members,
                                     [&](const auto& member) { return IsOnExistingNode(member.second); });
  });
  return any;
}

bool VictimUnits::IsOnExistingNode(const PodGroups::Member& member) const {
  return member.stage != PodGroups::Stage::kUnscheduled && nodes_.Find(member.node) != cluster::kNoRow;
}

std::optional<std::string> VictimUnits::MissingNode() const {
  std::set<std::string> wholes;
  groups_.ForEach([&](const std::string& key, const PodGroups::Group& group) {
    if (group.scheduled == 0) return;
    if (Membership of = MembershipIn(key, 0); !of.whole.empty()) wholes.insert(std::move(of.whole));
  });
  for (const std::string& whole : wholes) {
    auto missing = MissingNodeIn(whole);
    if (missing && AnyOnExistingNode(whole)) return missing;
  }
  return std::nullopt;
}

// A group may have members on all rows.
std::optional<std::string> VictimUnits::MissingNodeOf(cluster::Row row) {
  for (const cluster::PlacedPod* pod : nodes_.pods(row)) {
    Membership of = MembershipOf(*pod->pod);
    if (of.whole.empty()) continue;
    auto known = missing_nodes_.find(of.whole);
    if (known == missing_nodes_.end()) {
      auto missing = MissingNodeIn(of.whole);
      known = missing_nodes_.emplace(std::move(of.whole), std::move(missing)).first;
    }
    if (known->second) return known->second;
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
    const Membership of = MembershipOf(*pod->pod);
    if (of.priority >= priority) continue;
    if (of.whole.empty()) {
      units.push_back({of.priority, of.rank, Importance::EntryOf(*pod).started, {{row, pod}}});
    } else if (std::ranges::find(listed, of.whole) == listed.end()) {
      listed.push_back(of.whole);
      units.push_back(WholeGroups().at(of.whole));
    }
  }
  return units;
}

const VictimUnits::ByGroup& VictimUnits::WholeGroups() {
  if (whole_groups_) return *whole_groups_;
  whole_groups_.emplace();
  ForEachPod([&](cluster::Row row, cluster::PlacedPod& pod, const Membership& of) {
    if (of.whole.empty()) return;
    VictimUnit empty{of.priority, of.rank, INT64_MAX, {}};
    Join(whole_groups_->try_emplace(of.whole, std::move(empty)).first->second, row, pod);
  });
  for (auto& [key, unit] : *whole_groups_) SortByKey(unit);
  return *whole_groups_;
}

template <class Visit>
void VictimUnits::ForEachPod(Visit&& visit) const {
  nodes_.all().ForEach([&](std::size_t index) {
    const auto row = static_cast<cluster::Row>(index);
    for (cluster::PlacedPod* pod : nodes_.pods(row)) visit(row, *pod, MembershipOf(*pod->pod));
  });
}

}  // namespace berth::plugins
