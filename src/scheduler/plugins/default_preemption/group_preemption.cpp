#include "scheduler/plugins/default_preemption/group_preemption.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/cluster/withdrawal.hpp"
#include "scheduler/plugins/default_preemption/preempted_pods.hpp"

namespace berth::plugins {

using cluster::NodeTable;
using framework::GroupPostFilterResult;
using framework::GroupPostFilterServices;
using framework::QueuedGroup;
using framework::QueuedPodPtr;
using framework::Status;

GroupPreemption::GroupPreemption(framework::Handle& handle, DisruptionBudgets& budgets,
                                 const VictimUnits& units)
    : handle_(handle),
      budgets_(budgets),
      units_(units),
      group_has_policy_(handle.gates.Enabled("PodGroupPreemptionPolicy")) {}

GroupPostFilterResult GroupPreemption::Run(const QueuedGroup& group, GroupPostFilterServices& services) {
  if (NeverPreempts(group)) return {Status::Unschedulable("not eligible due to preemptionPolicy=Never.")};
  GroupPostFilterResult result;
  if (IsOngoing(group)) {
    for (const QueuedPodPtr& pod : group.members)
      result.nominations.push_back({pod->info.pod->metadata.uid, pod->info.pod->status.nominated_node_name});
    result.status.reasons = {"ongoing preemption on nominated nodes"};
    return result;
  }
  std::vector<VictimUnit> below = units_.Below(group.object->priority);
  if (below.empty()) return {Status::Unresolvable("No preemption victims found for incoming preemptor")};

  NodeTable::Withdrawal withdrawal(services.table());
  std::vector<Withdrawn> units;
  for (VictimUnit& unit : below) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < unit.pods.size(); ++i) {
      const std::size_t index = withdrawal.Remove(unit.pods[i].row, *unit.pods[i].pod);
      if (i == 0) first = index;
    }
    units.push_back({std::move(unit), first});
  }
  if (Status status = services.Decide(); !status.ok()) return {std::move(status)};

  SortForReprieve(units);
  GroupPostFilterResult::Eviction eviction;
  std::vector<VictimUnit> victims;
  for (Withdrawn& candidate : units) {
    RowSet changed(services.table().rows());
    for (std::size_t i = 0; i < candidate.unit.pods.size(); ++i) {
      withdrawal.PutBack(candidate.first + i);
      changed.Add(candidate.unit.pods[i].row);
    }
    if (services.StillFit(changed)) continue;
    for (std::size_t i = candidate.unit.pods.size(); i > 0; --i)
      withdrawal.RemoveAgain(candidate.first + i - 1);
    eviction.violations += candidate.violations;
    victims.push_back(std::move(candidate.unit));
  }
  std::ranges::sort(victims, MoreImportant);
  for (const VictimUnit& victim : victims) {
    if (victim.of_group) ++eviction.disrupted_groups;
    for (const VictimUnit::Victim& each : victim.pods) eviction.victims.push_back(each.pod->pod);
  }
  for (const GroupPostFilterServices::Found& found : services.found())
    result.nominations.push_back({found.member->info.pod->metadata.uid, services.table().name(found.row)});
  result.status.reasons = {
      fmt::format("found a placement for podgroup, preempting {} victims", eviction.victims.size())};
  result.eviction = std::move(eviction);
  return result;
}

bool GroupPreemption::NeverPreempts(const QueuedGroup& group) const {
  if (group_has_policy_) return group.object->preemption_policy == "Never";
  return std::ranges::any_of(group.members,
                             [](const QueuedPodPtr& pod) { return pod->info.pod->spec.never_preempts; });
}

bool GroupPreemption::IsOngoing(const QueuedGroup& group) const {
  RowSet nominated(handle_.nodes.rows());
  for (const QueuedPodPtr& pod : group.members) {
    const cluster::Row row = handle_.nodes.Find(pod->info.nominated);
    if (row != cluster::kNoRow) nominated.Add(row);
  }
  bool ongoing = false;
  nominated.ForEach([&](std::size_t row) {
    ongoing = ongoing ||
              std::ranges::any_of(handle_.nodes.pods(static_cast<cluster::Row>(row)), [&](const auto* pod) {
                return IsBeingPreempted(*pod->pod) && units_.PriorityOf(*pod->pod) < group.object->priority;
              });
  });
  return ongoing;
}

// A unit is atomic: it violates a budget if the eviction of any of its pods does.
void GroupPreemption::SortForReprieve(std::vector<Withdrawn>& units) {
  std::ranges::sort(units, MoreImportant, &Withdrawn::unit);
  budgets_.Begin();
  for (Withdrawn& candidate : units) {
    for (const VictimUnit::Victim& victim : candidate.unit.pods) {
      if (budgets_.Violates(*victim.pod->pod)) ++candidate.violations;
    }
  }
  std::ranges::sort(units, [](const Withdrawn& a, const Withdrawn& b) {
    const bool violating = a.violations > 0;
    return violating != (b.violations > 0) ? violating : MoreImportant(a.unit, b.unit);
  });
}

}  // namespace berth::plugins
