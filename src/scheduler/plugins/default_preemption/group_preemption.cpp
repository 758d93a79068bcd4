#include "scheduler/plugins/default_preemption/group_preemption.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/cluster/withdrawal.hpp"
#include "scheduler/plugins/default_preemption/evaluation_timer.hpp"
#include "scheduler/plugins/default_preemption/eviction_check.hpp"
#include "scheduler/plugins/default_preemption/preemption_steps.hpp"

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
  if (auto missing = units_.MissingNode()) return {Status::Error("failed to create domain: " + *missing)};
  if (NeverPreempts(group)) return {Status::Unschedulable(std::string(kNeverPreempts))};
  GroupPostFilterResult result;
  if (IsOngoing(group)) {
    for (const QueuedPodPtr& pod : group.members)
      result.nominations.push_back({pod->info.pod->metadata.uid, pod->info.pod->status.nominated_node_name});
    result.status.reasons = {"ongoing preemption on nominated nodes"};
    return result;
  }
  const EvaluationTimer timer(handle_, "podgroup");
  result = SelectVictims(group, services);
  timer.Observe(result.status.code);
  return result;
}

GroupPostFilterResult GroupPreemption::SelectVictims(const QueuedGroup& group,
                                                     GroupPostFilterServices& services) {
  GroupPostFilterResult result;
  std::vector<VictimUnit> units = units_.Below(group.priority);
  EvictionCheck check(services.protections(), {group.key, group.priority, group.leading_pod().info.pod});
  if (!check.empty()) std::erase_if(units, [&](const VictimUnit& unit) { return !check.MayEvict(unit); });
  const Refusals refusals = check.Take();
  if (!refusals.error.empty()) return {Status::Error(refusals.error)};
  if (units.empty() && refusals.any()) return {Status::Unschedulable(DescribeRefusals(refusals))};
  if (units.empty()) return {Status::Unresolvable("No preemption victims found for incoming preemptor")};

  NodeTable::Withdrawal withdrawal(services.table());
  for (VictimUnit& unit : units) {
    for (VictimUnit::Victim& victim : unit.pods)
      victim.withdrawn = withdrawal.Remove(victim.row, *victim.pod);
  }
  if (Status status = services.Decide(); !status.ok()) {
    if (status.rejected() && refusals.any()) status.reasons.push_back(DescribeRefusals(refusals));
    return {std::move(status)};
  }

  SortForReprieve(units, budgets_);
  GroupPostFilterResult::Eviction eviction;
  std::vector<VictimUnit> victims;
  for (VictimUnit& unit : units) {
    std::vector<GroupPostFilterServices::Added> added;
    for (const VictimUnit::Victim& victim : unit.pods) {
      withdrawal.PutBack(victim.withdrawn);
      added.push_back({victim.row, victim.pod});
    }
    Status fits = services.StillFit(added);
    if (fits.ok()) continue;
    if (fits.code == framework::Code::kError) return {std::move(fits)};
    for (const VictimUnit::Victim& victim : unit.pods) withdrawal.RemoveAgain(victim.withdrawn);
    eviction.violations += unit.violations;
    victims.push_back(std::move(unit));
  }
  std::ranges::sort(victims, MoreImportant);
  for (const VictimUnit& victim : victims) {
    if (victim.rank != VictimUnit::Rank::kPod) ++eviction.disrupted_groups;
    for (const VictimUnit::Victim& each : victim.pods) eviction.victims.push_back(each.pod->pod);
  }
  if (!check.MayEvictTogether(eviction.victims)) {
    const Refusals together = check.Take();
    return {together.error.empty() ? Status::Unschedulable(DescribeRefusals(together))
                                   : Status::Error(together.error)};
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
  return std::ranges::any_of(group.members, [&](const QueuedPodPtr& pod) {
    const cluster::Row row = handle_.nodes.Find(pod->info.nominated);
    return row != cluster::kNoRow && units_.AnyBeingPreempted(row, group.priority);
  });
}

}  // namespace berth::plugins
