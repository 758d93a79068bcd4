#include "scheduler/cycle/group_cycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/check.hpp"
#include "observability/log/log.hpp"
#include "scheduler/cycle/group_search.hpp"
#include "scheduler/cycle/rejections.hpp"

namespace berth::cycle {

using algorithm::RecordedScores;
using framework::Code;
using framework::QueuedGroup;
using framework::QueuedPodPtr;
using framework::Status;

namespace {

std::string_view PolicyOf(const api::Pod& pod) {
  return pod.spec.never_preempts ? "Never" : "PreemptLowerPriority";
}

// Compares members with the first one and with the group.
class MemberChecks {
 public:
  MemberChecks(const QueuedGroup& group, bool group_has_policy)
      : scheduler_(group.leading_pod().info.pod->spec.scheduler_name.str()),
        priority_(group.object->priority),
        group_has_policy_(group_has_policy) {
    if (group_has_policy)
      policy_ = group.object->preemption_policy.empty() ? "PreemptLowerPriority"
                                                        : std::string_view(group.object->preemption_policy);
  }

  // The reason why the pod may not be in the group.
  std::optional<std::string> Check(const api::Pod& pod) {
    if (pod.spec.scheduler_name != scheduler_) {
      return fmt::format(
          "all pods in a single pod group should have the same .spec.schedulerName set, got: \"{}\" and "
          "\"{}\"",
          pod.spec.scheduler_name.str(), scheduler_);
    }
    if (pod.spec.priority != priority_) {
      return fmt::format(
          "all pods in a single pod group should have the same priority as the pod group's priority, got {} "
          "and {}",
          pod.spec.priority, priority_);
    }
    const std::string_view policy = PolicyOf(pod);
    if (policy_.empty()) policy_ = policy;
    if (policy == policy_) return std::nullopt;
    return fmt::format(
        "all pods in a single pod group should have the same preemption policy{}, got {} and {}",
        group_has_policy_ ? " as the pod group's preemption policy" : "", policy, policy_);
  }

 private:
  const std::string scheduler_;
  const std::int32_t priority_;
  const bool group_has_policy_;
  std::string_view policy_;  // empty: that of the first pod
};

// The result if no member was tried.
GroupResult Untried(const QueuedGroup& group, Status status) {
  GroupResult result;
  result.status = std::move(status);
  for (const QueuedPodPtr& pod : group.members) result.members.emplace_back().pod = pod;
  return result;
}

}  // namespace

// What PodGroupPostFilter plugins may do.
class GroupCycle::PostFilterRun final : public framework::GroupPostFilterServices {
 public:
  PostFilterRun(GroupCycle& cycle, const QueuedGroup& group, std::vector<Tried> tried)
      : cycle_(cycle),
        group_(group),
        tried_(std::move(tried)),
        protections_(cycle.ProfileOf(group).eviction_protections()) {}

  bool abandoned() const { return latest_.result.abandoned; }
  framework::EvictionProtections& protections() override { return protections_; }
  std::span<const Tried> tried() const override { return tried_; }
  cluster::NodeTable& table() override { return parts().cluster.nodes(); }

  Status Decide() override {
    placed_.clear();
    IndexPlaced();
    nominations_.reset();
    all_fit_together_ = true;
    if (group_.tree != nullptr) {
      latest_ = cycle_.SearchTree(group_, cycle_.LeavesOf(group_));
    } else {
      latest_.result = cycle_.Search(group_);
    }
    found_.clear();
    if (latest_.result.abandoned) return Status::Error(kWaitCancelled);
    std::size_t on_nodes = 0;
    AddPlaced(latest_, on_nodes);
    if (latest_.result.status.ok()) PrepareTests();
    IndexPlaced();
    return latest_.result.status;
  }
  std::span<const Found> found() const override { return found_; }

  Status StillFit(std::span<const Added> added) override {
    Status reported = Report(added, &Test::Add);
    if (!reported.ok()) return reported;
    if (AllFit(added)) return {};
    reported = Report(added, &Test::Remove);
    return reported.ok() ? Status::Unschedulable("") : reported;
  }

 private:
  const Parts& parts() const { return cycle_.parts_; }
  const runtime::Profile& profile() const { return cycle_.ProfileOf(group_); }

  using Test = algorithm::SchedulingAlgorithm::MemberTest;
  struct PlacedMember {
    const MemberResult* result = nullptr;
    std::unique_ptr<Test> test;  // null: no plugin counts the pods of other nodes for this member
    std::size_t on_nodes = 0;    // members that stay on their nodes when the next one is evaluated
  };

  // kube-scheduler also finds nodes for the members of groups of a tree that cannot be scheduled themselves.
  // They leave their nodes before the next group.
  void AddPlaced(const TreeResult& node, std::size_t& on_nodes) {
    const std::size_t before = on_nodes;
    for (const MemberResult& member : node.result.members) {
      if (!member.placed()) continue;
      placed_.push_back({&member, nullptr, ++on_nodes});
      found_.push_back({member.pod.get(), member.decision.row});
    }
    for (const TreeResult& child : node.children) AddPlaced(child, on_nodes);
    if (node.result.status.ok() || on_nodes == before) return;
    on_nodes = before;
    placed_.back().on_nodes = before;
    all_fit_together_ = false;
  }

  // Each member is on its node when the tests of the next ones are created.
  void PrepareTests() {
    const auto counts_others = [&](const PlacedMember& member) {
      return profile().HasExtensionsBeyond(member.result->decision.skipped_extensions);
    };
    if (std::ranges::none_of(placed_, counts_others)) return;
    view_.emplace(parts().view.Of(parts().cluster));
    const auto nominations = Nominations();
    std::deque<framework::CycleState> states;
    Placed placed(parts(), profile());
    for (PlacedMember& member : placed_) {
      const MemberResult& result = *member.result;
      const cluster::Row row = result.decision.row;
      std::optional<framework::CycleState> state;
      if (counts_others(member)) {
        member.test = std::make_unique<Test>(result.pod->info, result.decision, profile(), *view_);
        state = member.test->FitsOn(row, nominations);
      } else {
        state =
            parts().algorithm.FitsOn(row, result.pod->info, result.decision, profile(), *view_, nominations);
      }
      states.push_back(state ? std::move(*state) : framework::CycleState{});
      (void)placed.AddAnyway(*result.pod, row, states.back());
      placed.RevertAfter(member.on_nodes);
    }
  }

  void IndexPlaced() {
    tests_.clear();
    always_affected_.clear();
    by_row_.clear();
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      const PlacedMember& member = placed_[i];
      if (member.test != nullptr) tests_.push_back(member.test.get());
      if (member.test != nullptr || !all_fit_together_) {
        always_affected_.push_back(i);
      } else {
        by_row_.emplace_back(member.result->decision.row, i);
      }
    }
    std::ranges::sort(by_row_);
  }

  // They do not change between two decisions. Collecting them for each of tens of thousands of victims would
  // take longer than everything else.
  std::span<const runtime::Nomination> Nominations() {
    if (!nominations_) {
      const auto current = parts().nominations.Of(table());
      nominations_.emplace(current.begin(), current.end());
    }
    return *nominations_;
  }

  Status Report(std::span<const Added> pods,
                Status (Test::*report)(const cluster::PlacedPod&, cluster::Row)) {
    for (const Added& pod : pods) {
      for (Test* test : tests_) {
        if (Status status = (test->*report)(*pod.pod, pod.row); !status.ok()) return status;
      }
    }
    return {};
  }

  // The members that these pods may exclude from their nodes: indexes into placed_, in its order.
  std::vector<std::size_t> AffectedBy(std::span<const Added> added) const {
    std::vector<std::size_t> affected = always_affected_;
    if (by_row_.empty()) return affected;
    std::vector<cluster::Row> rows;
    for (const Added& pod : added) rows.push_back(pod.row);
    std::ranges::sort(rows);
    rows.erase(std::ranges::unique(rows).begin(), rows.end());
    for (const cluster::Row row : rows) {
      for (const auto& [of_member, index] :
           std::ranges::equal_range(by_row_, row, {}, &std::pair<cluster::Row, std::size_t>::first))
        affected.push_back(index);
    }
    std::ranges::sort(affected);
    return affected;
  }

  bool AllFit(std::span<const Added> added) {
    const std::vector<std::size_t> affected = AffectedBy(added);
    if (affected.empty()) return true;
    const auto nominations = Nominations();
    const algorithm::ClusterView view = parts().view.Of(parts().cluster);
    std::deque<framework::CycleState> states;
    Placed placed(parts(), profile());
    for (const std::size_t index : affected) {
      const PlacedMember& member = placed_[index];
      const MemberResult& result = *member.result;
      const cluster::Row row = result.decision.row;
      auto state = member.test != nullptr ? member.test->FitsOn(row, nominations)
                                          : parts().algorithm.FitsOn(row, result.pod->info, result.decision,
                                                                     profile(), view, nominations);
      if (!state) return false;
      // As in kube-scheduler, the pod is on the node even if a plugin cannot reserve what it needs.
      (void)placed.AddAnyway(*result.pod, row, states.emplace_back(std::move(*state)));
    }
    return true;
  }

  GroupCycle& cycle_;
  const QueuedGroup& group_;
  std::vector<Tried> tried_;
  framework::EvictionProtections protections_;
  TreeResult latest_;  // of Decide; without a tree its result only
  std::optional<algorithm::ClusterView> view_;
  std::vector<PlacedMember> placed_;
  bool all_fit_together_ = true;  // else some have left their nodes before others were placed
  std::vector<Test*> tests_;      // of placed_
  // Indexes into placed_: of members that are evaluated after every change, and of the others by row.
  std::vector<std::size_t> always_affected_;
  std::vector<std::pair<cluster::Row, std::size_t>> by_row_;
  std::optional<std::vector<runtime::Nomination>> nominations_;  // since the last decision
  std::vector<Found> found_;
};

GroupResult GroupCycle::Decide(const QueuedGroup& group) {
  BERTH_CHECK(!group.members.empty() && group.object != nullptr, group.key, group.members.size());
  if (group.tree != nullptr) return DecideTree(group);
  GroupResult result = Search(group);
  result.scheduled_before = parts_.groups.Find(group.key)->scheduled;
  result.searched = result.status.code;
  result.took = parts_.clock.Now() - group.attempt_started;
  if (result.searched == Code::kUnschedulable && !result.abandoned && MayEvict(group, result))
    RunPostFilters(group, result);
  if (group.object->topology_key.empty()) result.placement.reset();
  for (MemberResult& member : result.members) member.decision.state.in_group_cycle = false;
  return result;
}

// A group of another project for which no member was tried has a reason that is independent of single nodes,
// and evicts nothing, as in scheduler-plugins. kube-scheduler calls the plugins for its own groups in any
// case.
bool GroupCycle::MayEvict(const QueuedGroup& group, const GroupResult& result) {
  return group.object->external == nullptr || std::ranges::any_of(result.members, &MemberResult::tried);
}

GroupResult GroupCycle::Search(const QueuedGroup& group) {
  GroupResult result;
  Assumed assumed(parts_, group.leading_pod().profile);
  result = SearchGroup(group, parts_.cluster.nodes().all(), RecordedScores::kAll, assumed);
  if (result.status.ok() && !result.any_placed) result.status = RejectedWithGroup({});
  for (MemberResult& member : result.members) {
    if (!member.tried()) member.status = result.status;
  }
  return result;
}

GroupResult GroupCycle::SearchGroup(const QueuedGroup& group, const RowSet& rows, RecordedScores recorded,
                                    Assumed& assumed) {
  return by_placement_ ? SearchPlacements(group, rows, recorded, assumed)
                       : SearchWithin(group, rows, recorded, assumed);
}

std::vector<const cluster::PodInfo*> GroupCycle::PlacedMembers(const GroupResult& result) {
  std::vector<const cluster::PodInfo*> members;
  for (const MemberResult& member : result.members) {
    if (member.placed()) members.push_back(&member.pod->info);
  }
  return members;
}

// If the group fits into no placement, the members have the results of the first one.
GroupResult GroupCycle::SearchPlacements(const QueuedGroup& group, const RowSet& rows,
                                         RecordedScores recorded, Assumed& assumed) {
  const framework::GeneratedPlacements generated =
      assumed.profile().RunPlacementGenerate(*group.object, parts_.cluster.nodes(), rows);
  if (!generated.status.ok()) return Untried(group, generated.status);
  parts_.metrics.PlacementsGenerated(assumed.profile_index(), generated.placements.size());
  // The result of the only placement is the result of the group.
  const auto recorded_now = generated.placements.size() == 1 ? recorded : RecordedScores::kNone;
  const std::size_t before_group = assumed.size();
  std::optional<GroupResult> first;
  std::vector<Candidate> candidates;
  for (const framework::GroupPlacement& placement : generated.placements) {
    const MonoTime began = parts_.clock.Now();
    const auto before = parts_.algorithm.position();
    GroupResult result = SearchWithin(group, placement.rows, recorded_now, assumed);
    const bool feasible = result.status.ok();
    if (result.abandoned || (!feasible && !result.status.rejected())) return result;
    parts_.metrics.PlacementEvaluated(assumed.profile_index(), feasible, parts_.clock.Now() - began);
    if (generated.placements.size() == 1 && feasible) {
      result.placement = {.name = placement.name, .evaluated = 1, .feasible = 1};
      return result;
    }
    if (feasible) {
      candidates.push_back({{&placement, PlacedMembers(result)}, before});
      assumed.RevertAfter(before_group);
    } else if (!first) {
      first = std::move(result);
    }
  }
  if (!candidates.empty()) {
    const auto best = ChooseBest(*group.object, candidates, assumed.profile());
    if (!best) return Untried(group, Status::Error(best.error().message));
    GroupResult result = SearchAgain(
        **best, [&](const RowSet& chosen) { return SearchWithin(group, chosen, recorded, assumed); });
    result.placement = {.name = (*best)->feasible.placement->name,
                        .evaluated = generated.placements.size(),
                        .feasible = candidates.size()};
    return result;
  }
  first->placement = {.name = {}, .evaluated = generated.placements.size(), .feasible = 0};
  first->status = RejectedWithGroup(
      Status::Unschedulable(fmt::format("0/{} placements are available, first placement status: {}",
                                        generated.placements.size(), ErrorTextOf(first->status))));
  return *std::move(first);
}

// The result for the chosen one is found again, with complete records. Extenders are asked again; if they
// answer differently, the new result counts.
Expected<const GroupCycle::Candidate*> GroupCycle::ChooseBest(const api::PodGroup& group,
                                                              const std::vector<Candidate>& candidates,
                                                              const runtime::Profile& profile) {
  if (candidates.size() == 1) return &candidates.front();
  std::vector<framework::FeasiblePlacement> placements;
  for (const Candidate& candidate : candidates) placements.push_back(candidate.feasible);
  BERTH_TRY(const auto totals, profile.RunPlacementScores(group, parts_.cluster.nodes(), placements));
  const std::int64_t most = std::ranges::max(totals);
  std::vector<const Candidate*> best;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (totals[i] == most) best.push_back(&candidates[i]);
  }
  return best[parts_.algorithm.BreakTie(best.size())];
}

GroupResult GroupCycle::SearchWithin(const QueuedGroup& group, const RowSet& rows, RecordedScores recorded,
                                     Assumed& assumed) {
  const std::size_t before = assumed.size();
  GroupResult result = Untried(group, {});
  DecideMembers(group, rows, recorded, assumed, result);
  if (result.abandoned || !result.status.ok()) {
    assumed.RevertAfter(before);
    result.any_placed = false;
  }
  return result;
}

std::optional<std::string> GroupCycle::Invalid(const QueuedGroup& group) const {
  if (group.object->external != nullptr) return std::nullopt;
  MemberChecks checks(group, group_has_policy_);
  for (const QueuedPodPtr& pod : group.members) {
    if (auto invalid = checks.Check(*pod->info.pod)) return invalid;
  }
  for (const std::string& leaf : parts_.groups.LeavesOf(group.key)) {
    const cluster::PodGroups::Group* known = parts_.groups.Find(leaf);
    BERTH_CHECK(known != nullptr, group.key, leaf);
    for (const auto& [uid, member] : known->members) {
      if (member.stage == cluster::PodGroups::Stage::kUnscheduled) continue;
      if (auto invalid = checks.Check(*member.pod)) return invalid;
    }
  }
  return std::nullopt;
}

// Members are tried in order until the group cannot be scheduled any more. Those that find no node do not
// stop the others as long as minCount can be reached.
void GroupCycle::DecideMembers(const QueuedGroup& group, const RowSet& rows, RecordedScores recorded,
                               Assumed& assumed, GroupResult& result) {
  const runtime::Profile& profile = assumed.profile();
  framework::PlacementProgress progress{.remaining = group.members.size(),
                                        .scheduled = parts_.groups.Find(group.key)->scheduled};
  Status feasible = profile.RunPlacementFeasible(*group.object, progress);
  if (feasible.code == Code::kError) {
    result.status = Status::Error("failed to evaluate placement feasibility: " + feasible.Message());
    return;
  }
  if (feasible.code == Code::kUnschedulable) {
    result.status = RejectedWithGroup(std::move(feasible));
    return;
  }
  std::vector<const api::Pod*> placed_pods;
  for (MemberResult& member : result.members) {
    const MonoTime began = parts_.clock.Now();
    DecideMember(member, rows, recorded);
    if (member.status.ok() && !member.decision.abandoned) {
      member.status = assumed.Add(member);
      if (!member.status.ok()) OnNotReserved(member);
    }
    member.took = parts_.clock.Now() - began;
    result.abandoned = member.decision.abandoned;
    if (result.abandoned) return;
    if (!member.status.ok() && !member.status.rejected()) {
      result.status =
          Status::Error("failed to schedule other pod from a pod group: " + member.status.Message());
      return;
    }
    progress.begun = true;
    --progress.remaining;
    if (member.status.ok()) {
      ++progress.scheduled;
      placed_pods.push_back(member.pod->info.pod.get());
      progress.placed = placed_pods;
    }
    feasible = profile.RunPlacementFeasible(*group.object, progress);
    if (feasible.code == Code::kError) {
      result.status = Status::Error("failed to evaluate placement feasibility: " + feasible.Message());
      return;
    }
    if (feasible.code == Code::kUnschedulable) break;
    result.any_placed = result.any_placed || member.status.ok();
  }
  result.status = feasible.code == Code::kWait ? RejectedWithGroup(std::move(feasible)) : std::move(feasible);
}

void GroupCycle::DecideMember(MemberResult& member, const RowSet& rows, RecordedScores recorded) {
  const framework::QueuedPod& pod = *member.pod;
  if (const auto log = log::V(4))
    log.Info("Attempting to schedule a pod belonging to a pod group",
             {{"pod", log::Value::Object(pod.info.key)}});
  member.decision =
      parts_.algorithm.ScheduleMember(pod.info, *parts_.profiles[pod.profile], parts_.view.Of(parts_.cluster),
                                      rows, recorded, parts_.nominations.Of(parts_.cluster.nodes()));
  if (member.decision.abandoned) return;
  const record::AttemptRecord& record = *member.decision.record;
  switch (record.result) {
    case record::Result::kScheduled:
      break;
    case record::Result::kUnschedulable:
      member.status = Status::Unschedulable(record.message);
      break;
    default:
      member.status = Status::Error(record.message);
  }
}

void GroupCycle::OnNotReserved(MemberResult& member) {
  member.decision.nominate = "";
  if (!member.status.rejected()) return;
  member.decision.rejectors = {std::string(member.status.plugin)};
  if (member.status.code == Code::kPending) member.decision.pending = member.decision.rejectors;
  member.status = RejectedOnOneNode(std::move(member.status));
}

// All members are rejected, whatever the plugins find. If they found victims, the members wait for the
// evictions on their nominated nodes.
void GroupCycle::RunPostFilters(const QueuedGroup& group, GroupResult& result) {
  std::vector<framework::GroupPostFilterServices::Tried> tried;
  AddTried(result.members, tried);
  PostFiltersResult answer = CallPostFilters(group, std::move(tried));
  result.abandoned = answer.abandoned;
  if (answer.result.status.code == Code::kError) {
    result.status = std::move(answer.result.status);
    return;
  }
  result.status.reasons.push_back(answer.result.status.Message());
  if (!answer.result.status.ok()) return AddRejectors(answer.rejectors, result.members);
  result.waits_for_evictions = true;
  MembersByUid by_uid;
  AddTo(by_uid, result.members);
  Nominate(group, by_uid, answer.result.nominations);
  result.preemption = PlanOf(answer.result);
}

GroupCycle::PostFiltersResult GroupCycle::CallPostFilters(
    const QueuedGroup& group, std::vector<framework::GroupPostFilterServices::Tried> tried) {
  PostFilterRun services(*this, group, std::move(tried));
  PostFiltersResult answer{ProfileOf(group).RunPodGroupPostFilter(group, services)};
  answer.abandoned = services.abandoned();
  answer.rejectors = services.protections().rejectors();
  return answer;
}

// A member that fits on a node is retried after every event.
void GroupCycle::AddRejectors(std::span<const std::string_view> plugins, std::span<MemberResult> members) {
  for (MemberResult& member : members) {
    if (!member.decision.rejectors.empty()) framework::AddRejectors(plugins, member.decision.rejectors);
  }
}

void GroupCycle::AddTried(std::span<MemberResult> members,
                          std::vector<framework::GroupPostFilterServices::Tried>& tried) {
  for (MemberResult& member : members) {
    if (member.tried()) tried.push_back({member.pod.get(), &member.decision.state});
  }
}

void GroupCycle::AddTo(MembersByUid& by_uid, std::span<MemberResult> members) {
  for (MemberResult& member : members) by_uid.emplace(member.pod->info.pod->metadata.uid, &member);
}

void GroupCycle::Nominate(const QueuedGroup& group, const MembersByUid& members,
                          std::span<const framework::GroupPostFilterResult::Nomination> nominations) {
  for (const auto& nomination : nominations) {
    const auto member = members.find(nomination.uid);
    BERTH_CHECK(member != members.end(), group.key, nomination.uid);
    member->second->decision.nominate = nomination.node;
  }
}

std::optional<EvictionPlan> GroupCycle::PlanOf(framework::GroupPostFilterResult& answer) {
  if (!answer.eviction) return std::nullopt;
  return EvictionPlan{.plugin = std::string(answer.status.plugin),
                      .place = "cluster",
                      .victims = std::move(answer.eviction->victims),
                      .violations = answer.eviction->violations,
                      .disrupted_groups = answer.eviction->disrupted_groups};
}

record::GroupRecord RecordOf(const framework::QueuedGroup& group, const GroupResult& result,
                             const std::optional<EvictionPlan>& preemption) {
  record::GroupRecord record{.group = group.key,
                             .result = result.status.ok()         ? record::Result::kScheduled
                                       : result.status.rejected() ? record::Result::kUnschedulable
                                                                  : record::Result::kError,
                             .message = result.status.Message(),
                             .min_count = group.object->min_count(),
                             .scheduled = result.scheduled_before,
                             .pending = result.members.size(),
                             .placement = result.placement,
                             .waits_for_evictions = result.waits_for_evictions};
  for (const MemberResult& member : result.members) {
    ++(!member.tried() ? record.not_tried : member.placed() ? record.placed : record.failed);
    if (member.tried() && !member.placed() && record.failures.size() < record::GroupRecord::kFailuresMax)
      record.failures.push_back({member.pod->info.key, member.status.Message()});
  }
  if (preemption) {
    for (const api::PodPtr& victim : preemption->victims) record.victims.push_back(victim->metadata.Key());
    std::ranges::sort(record.victims);
  }
  return record;
}

}  // namespace berth::cycle
