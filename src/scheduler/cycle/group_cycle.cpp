#include "scheduler/cycle/group_cycle.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "observability/log/log.hpp"
#include "scheduler/cycle/rejections.hpp"

namespace berth::cycle {

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

  // A status other than Success: the pod is not placed.
  Status Add(const QueuedPodPtr& pod, algorithm::ScheduleResult& decision) {
    const std::string& uid = pod->info.pod->metadata.uid;
    const bool assumed = parts_.cluster.Assume(pod->info, decision.row);
    BERTH_CHECK(assumed, pod->info.key, uid);
    parts_.nominator.Delete(uid);
    const Member member{pod, parts_.cluster.nodes().name(decision.row), &decision.state};
    Status reserved = profile_.RunReserve({pod->info, member.node, decision.state});
    if (reserved.ok()) {
      members_.push_back(member);
    } else {
      Revert(member);
    }
    return reserved;
  }

 private:
  struct Member {
    QueuedPodPtr pod;
    std::string node;
    framework::CycleState* state;
  };
  void Revert(const Member& member) {
    profile_.RunUnreserve({member.pod->info, member.node, *member.state});
    const bool forgotten = parts_.cluster.Forget(member.pod->info.pod->metadata.uid);
    BERTH_CHECK(forgotten, member.pod->info.key, member.node);
    if (member.pod->info.nominated.known()) parts_.nominator.Set(member.pod);
  }

  const Parts& parts_;
  const runtime::Profile& profile_;
  std::vector<Member> members_;
};

GroupResult GroupCycle::Decide(const QueuedGroup& group) {
  BERTH_CHECK(!group.members.empty() && group.object != nullptr, group.key, group.members.size());
  GroupResult result;
  for (const QueuedPodPtr& pod : group.members) result.members.emplace_back().pod = pod;
  DecideMembers(group, result);
  return result;
}

std::optional<std::string> GroupCycle::Invalid(const QueuedGroup& group) const {
  MemberChecks checks(group, parts_.gates.Enabled("PodGroupPreemptionPolicy"));
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
void GroupCycle::DecideMembers(const QueuedGroup& group, GroupResult& result) {
  const runtime::Profile& profile = *parts_.profiles[group.leading_pod().profile];
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
  Placed placed(parts_, profile);
  bool any_placed = false;
  for (MemberResult& member : result.members) {
    member = DecideMember(member.pod, placed);
    result.abandoned = member.decision.abandoned;
    if (result.abandoned) return;
    if (!member.status.ok() && !member.status.rejected()) {
      result.status =
          Status::Error("failed to schedule other pod from a pod group: " + member.status.Message());
      return;
    }
    --progress.remaining;
    if (member.status.ok()) ++progress.scheduled;
    feasible = profile.RunPlacementFeasible(*group.object, progress);
    if (feasible.code == Code::kError) {
      result.status = Status::Error("failed to evaluate placement feasibility: " + feasible.Message());
      return;
    }
    if (feasible.code == Code::kUnschedulable) break;
    any_placed = any_placed || member.status.ok();
  }
  result.status = feasible.code == Code::kWait ? RejectedWithGroup(std::move(feasible)) : std::move(feasible);
  if (result.status.ok() && !any_placed) result.status = RejectedWithGroup({});
}

MemberResult GroupCycle::DecideMember(const QueuedPodPtr& pod, Placed& placed) {
  if (const auto log = log::V(4))
    log.Info("Attempting to schedule a pod belonging to a pod group",
             {{"pod", log::Value::Object(pod->info.key)}});
  const MonoTime began = parts_.clock.Now();
  MemberResult member;
  member.pod = pod;
  member.decision = parts_.algorithm.ScheduleMember(
      pod->info, *parts_.profiles[pod->profile], parts_.view.Of(parts_.cluster),
      nominations_.Of(parts_.nominator, parts_.cluster.nodes()));
  if (member.decision.abandoned) return member;
  const record::AttemptRecord& record = *member.decision.record;
  switch (record.result) {
    case record::Result::kScheduled:
      member.status = placed.Add(pod, member.decision);
      if (!member.status.ok()) OnNotReserved(member);
      break;
    case record::Result::kUnschedulable:
      member.status = Status::Unschedulable(record.message);
      break;
    default:
      member.status = Status::Error(record.message);
  }
  member.took = parts_.clock.Now() - began;
  return member;
}

void GroupCycle::OnNotReserved(MemberResult& member) {
  member.decision.nominate = "";
  if (!member.status.rejected()) return;
  member.decision.rejectors = {std::string(member.status.plugin)};
  if (member.status.code == Code::kPending) member.decision.pending = member.decision.rejectors;
  member.status = RejectedOnOneNode(std::move(member.status));
}

}  // namespace berth::cycle
