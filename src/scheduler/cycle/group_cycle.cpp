#include "scheduler/cycle/group_cycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/check.hpp"
#include "observability/log/log.hpp"
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

// The nominations of placed members: deleted while these are on nodes, then set again as the pods' status
// says, like in kube-scheduler.
class TakenNominations {
 public:
  explicit TakenNominations(queue::Nominator& nominator) : nominator_(nominator) {}
  TakenNominations(const TakenNominations&) = delete;
  TakenNominations& operator=(const TakenNominations&) = delete;
  ~TakenNominations() {
    for (const QueuedPodPtr& pod : pods_) GiveBack(pod);
  }

  void Take(const QueuedPodPtr& pod) {
    nominator_.Delete(pod->info.pod->metadata.uid);
    pods_.push_back(pod);
  }
  void GiveBackLast() {
    GiveBack(pods_.back());
    pods_.pop_back();
  }

 private:
  void GiveBack(const QueuedPodPtr& pod) {
    if (pod->info.nominated.known()) nominator_.Set(pod);
  }
  queue::Nominator& nominator_;
  std::vector<QueuedPodPtr> pods_;
};

}  // namespace

// The members that have a node so far. Reverts them when it is destroyed, the last one first.
class GroupCycle::Placed {
 public:
  explicit Placed(const Parts& parts, const runtime::Profile& profile) : parts_(parts), profile_(profile) {}
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  ~Placed() {
    for (auto member = members_.rbegin(); member != members_.rend(); ++member) Revert(*member);
  }

  // A status other than Success: the pod is not placed. `pod` and `state` must outlive this object.
  Status Add(const framework::QueuedPod& pod, cluster::Row row, framework::CycleState& state) {
    Status reserved = AddAnyway(pod, row, state);
    if (!reserved.ok()) {
      Revert(members_.back());
      members_.pop_back();
    }
    return reserved;
  }
  // The pod is placed, whatever the status of Reserve.
  Status AddAnyway(const framework::QueuedPod& pod, cluster::Row row, framework::CycleState& state) {
    const bool assumed = parts_.cluster.Assume(pod.info, row);
    BERTH_CHECK(assumed, pod.info.key, pod.info.pod->metadata.uid);
    members_.push_back({pod.info, parts_.cluster.nodes().name(row), state});
    return profile_.RunReserve({pod.info, members_.back().node, state});
  }

 private:
  struct Member {
    const cluster::PodInfo& pod;
    std::string node;
    framework::CycleState& state;
  };
  void Revert(const Member& member) {
    profile_.RunUnreserve({member.pod, member.node, member.state});
    const bool forgotten = parts_.cluster.Forget(member.pod.pod->metadata.uid);
    BERTH_CHECK(forgotten, member.pod.key, member.node);
  }

  const Parts& parts_;
  const runtime::Profile& profile_;
  std::deque<Member> members_;
};

// What PodGroupPostFilter plugins may do.
class GroupCycle::PostFilterRun final : public framework::GroupPostFilterServices {
 public:
  PostFilterRun(GroupCycle& cycle, const QueuedGroup& group, GroupResult& result)
      : cycle_(cycle), group_(group) {
    for (MemberResult& member : result.members) {
      if (member.tried()) tried_.push_back({member.pod.get(), &member.decision.state});
    }
  }

  bool abandoned() const { return latest_.abandoned; }
  std::span<const Tried> tried() const override { return tried_; }
  cluster::NodeTable& table() override { return parts().cluster.nodes(); }

  Status Decide() override {
    placed_.clear();
    latest_ = cycle_.Search(group_);
    found_.clear();
    if (latest_.abandoned) return Status::Error(kWaitCancelled);
    for (const MemberResult& member : latest_.members) {
      if (!member.placed()) continue;
      placed_.push_back({&member, nullptr});
      found_.push_back({member.pod.get(), member.decision.row});
    }
    if (latest_.status.ok()) PrepareTests();
    return latest_.status;
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
  };

  // Each member is on its node when the tests of the next ones are created.
  void PrepareTests() {
    const auto counts_others = [&](const PlacedMember& member) {
      return profile().HasExtensionsBeyond(member.result->decision.skipped_extensions);
    };
    if (std::ranges::none_of(placed_, counts_others)) return;
    view_.emplace(parts().view.Of(parts().cluster));
    const auto nominations = parts().nominations.Of(table());
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
    }
  }

  Status Report(std::span<const Added> pods,
                Status (Test::*report)(const cluster::PlacedPod&, cluster::Row)) {
    for (const Added& pod : pods) {
      for (const PlacedMember& member : placed_) {
        if (member.test == nullptr) continue;
        if (Status status = (*member.test.*report)(*pod.pod, pod.row); !status.ok()) return status;
      }
    }
    return {};
  }

  bool AllFit(std::span<const Added> added) {
    const auto changed = [&](cluster::Row row) {
      return std::ranges::find(added, row, &Added::row) != added.end();
    };
    const auto nominations = parts().nominations.Of(table());
    const algorithm::ClusterView view = parts().view.Of(parts().cluster);
    std::deque<framework::CycleState> states;
    Placed placed(parts(), profile());
    for (const PlacedMember& member : placed_) {
      const MemberResult& result = *member.result;
      const cluster::Row row = result.decision.row;
      if (member.test == nullptr && !changed(row)) continue;
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
  GroupResult latest_;  // of Decide
  std::optional<algorithm::ClusterView> view_;
  std::vector<PlacedMember> placed_;
  std::vector<Found> found_;
};

GroupResult GroupCycle::Decide(const QueuedGroup& group) {
  BERTH_CHECK(!group.members.empty() && group.object != nullptr, group.key, group.members.size());
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
  GroupResult result = by_placement_
                           ? SearchPlacements(group)
                           : SearchWithin(group, parts_.cluster.nodes().all(), RecordedScores::kAll);
  if (result.status.ok() && !result.any_placed) result.status = RejectedWithGroup({});
  for (MemberResult& member : result.members) {
    if (!member.tried()) member.status = result.status;
  }
  return result;
}

// A placement in which the group can be scheduled. Its result is not kept, because results are large and
// there may be as many placements as nodes.
struct GroupCycle::Candidate {
  framework::FeasiblePlacement feasible;
  algorithm::SchedulingAlgorithm::Position before;  // at the start of its search
};

std::vector<const cluster::PodInfo*> GroupCycle::PlacedMembers(const GroupResult& result) {
  std::vector<const cluster::PodInfo*> members;
  for (const MemberResult& member : result.members) {
    if (member.placed()) members.push_back(&member.pod->info);
  }
  return members;
}

// If the group fits into no placement, the members have the results of the first one.
GroupResult GroupCycle::SearchPlacements(const QueuedGroup& group) {
  const std::uint32_t profile = group.leading_pod().profile;
  const cluster::NodeTable& nodes = parts_.cluster.nodes();
  const framework::GeneratedPlacements generated =
      ProfileOf(group).RunPlacementGenerate(*group.object, nodes, nodes.all());
  if (!generated.status.ok()) return Untried(group, generated.status);
  parts_.metrics.PlacementsGenerated(profile, generated.placements.size());
  // The result of the only placement is the result of the group.
  const auto recorded = generated.placements.size() == 1 ? RecordedScores::kAll : RecordedScores::kNone;
  std::optional<GroupResult> first;
  std::vector<Candidate> candidates;
  for (const framework::GroupPlacement& placement : generated.placements) {
    const MonoTime began = parts_.clock.Now();
    const auto before = parts_.algorithm.position();
    GroupResult result = SearchWithin(group, placement.rows, recorded);
    const bool feasible = result.status.ok();
    if (result.abandoned || (!feasible && !result.status.rejected())) return result;
    parts_.metrics.PlacementEvaluated(profile, feasible, parts_.clock.Now() - began);
    if (generated.placements.size() == 1 && feasible) {
      result.placement = {.name = placement.name, .evaluated = 1, .feasible = 1};
      return result;
    }
    if (feasible) {
      candidates.push_back({{&placement, PlacedMembers(result)}, before});
    } else if (!first) {
      first = std::move(result);
    }
  }
  if (const std::size_t feasible = candidates.size(); feasible > 0) {
    GroupResult best = ChooseBest(group, std::move(candidates));
    if (best.placement) {
      best.placement->evaluated = generated.placements.size();
      best.placement->feasible = feasible;
    }
    return best;
  }
  first->placement = {.name = {}, .evaluated = generated.placements.size(), .feasible = 0};
  first->status = RejectedWithGroup(
      Status::Unschedulable(fmt::format("0/{} placements are available, first placement status: {}",
                                        generated.placements.size(), ErrorTextOf(first->status))));
  return *std::move(first);
}

GroupResult GroupCycle::ChooseBest(const QueuedGroup& group, std::vector<Candidate> candidates) {
  if (candidates.size() == 1) return SearchAgain(group, candidates.front());
  std::vector<framework::FeasiblePlacement> placements;
  for (const Candidate& candidate : candidates) placements.push_back(candidate.feasible);
  const auto totals = ProfileOf(group).RunPlacementScores(*group.object, parts_.cluster.nodes(), placements);
  if (!totals) return Untried(group, Status::Error(totals.error().message));
  const std::int64_t most = std::ranges::max(*totals);
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < totals->size(); ++i) {
    if ((*totals)[i] == most) best.push_back(i);
  }
  return SearchAgain(group, candidates[best[parts_.algorithm.BreakTie(best.size())]]);
}

// The same decisions, with complete records. Extenders are asked again; if they answer differently, the new
// result counts.
GroupResult GroupCycle::SearchAgain(const QueuedGroup& group, const Candidate& candidate) {
  const auto after = parts_.algorithm.position();
  parts_.algorithm.Restore(candidate.before);
  GroupResult result = SearchWithin(group, candidate.feasible.placement->rows, RecordedScores::kAll);
  parts_.algorithm.Restore(after);
  result.placement = record::GroupRecord::Placement{};
  result.placement->name = candidate.feasible.placement->name;
  return result;
}

GroupResult GroupCycle::SearchWithin(const QueuedGroup& group, const RowSet& rows, RecordedScores recorded) {
  GroupResult result = Untried(group, {});
  DecideMembers(group, rows, recorded, result);
  return result;
}

std::optional<std::string> GroupCycle::Invalid(const QueuedGroup& group) const {
  if (group.object->external != nullptr) return std::nullopt;
  MemberChecks checks(group, group_has_policy_);
  for (const QueuedPodPtr& pod : group.members) {
    if (auto invalid = checks.Check(*pod->info.pod)) return invalid;
  }
  const cluster::PodGroups::Group* known = parts_.groups.Find(group.key);
  BERTH_CHECK(known != nullptr, group.key);
  for (const auto& [uid, member] : known->members) {
    if (member.stage == cluster::PodGroups::Stage::kUnscheduled) continue;
    if (auto invalid = checks.Check(*member.pod)) return invalid;
  }
  return std::nullopt;
}

// Members are tried in order until the group cannot be scheduled any more. Those that find no node do not
// stop the others as long as minCount can be reached.
void GroupCycle::DecideMembers(const QueuedGroup& group, const RowSet& rows, RecordedScores recorded,
                               GroupResult& result) {
  const runtime::Profile& profile = ProfileOf(group);
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
  TakenNominations nominations(parts_.nominator);
  Placed placed(parts_, profile);
  std::vector<const api::Pod*> placed_pods;
  for (MemberResult& member : result.members) {
    const MonoTime began = parts_.clock.Now();
    DecideMember(member, rows, recorded);
    if (member.status.ok() && !member.decision.abandoned) {
      nominations.Take(member.pod);
      member.status = placed.Add(*member.pod, member.decision.row, member.decision.state);
      if (!member.status.ok()) {
        nominations.GiveBackLast();
        OnNotReserved(member);
      }
    }
    member.took = parts_.clock.Now() - began;
    result.abandoned = member.decision.abandoned;
    if (result.abandoned) return;
    if (!member.status.ok() && !member.status.rejected()) {
      result.status =
          Status::Error("failed to schedule other pod from a pod group: " + member.status.Message());
      return;
    }
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
  PostFilterRun services(*this, group, result);
  framework::GroupPostFilterResult answer = ProfileOf(group).RunPodGroupPostFilter(group, services);
  result.abandoned = services.abandoned();
  if (answer.status.code == Code::kError) {
    result.status = std::move(answer.status);
    return;
  }
  result.status.reasons.push_back(answer.status.Message());
  if (!answer.status.ok()) return;
  result.waits_for_evictions = true;
  for (auto& [uid, node] : answer.nominations) {
    const auto member = std::ranges::find_if(
        result.members, [&](const MemberResult& each) { return each.pod->info.pod->metadata.uid == uid; });
    BERTH_CHECK(member != result.members.end(), group.key, uid);
    member->decision.nominate = std::move(node);
  }
  if (!answer.eviction) return;
  result.preemption = EvictionPlan{.plugin = std::string(answer.status.plugin),
                                   .place = "cluster",
                                   .victims = std::move(answer.eviction->victims),
                                   .violations = answer.eviction->violations,
                                   .disrupted_groups = answer.eviction->disrupted_groups};
}

record::GroupRecord RecordOf(const framework::QueuedGroup& group, const GroupResult& result) {
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
  if (result.preemption) {
    for (const api::PodPtr& victim : result.preemption->victims)
      record.victims.push_back(victim->metadata.Key());
    std::ranges::sort(record.victims);
  }
  return record;
}

}  // namespace berth::cycle
