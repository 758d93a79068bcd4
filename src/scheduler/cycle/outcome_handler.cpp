#include "scheduler/cycle/outcome_handler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "observability/log/log.hpp"
#include "scheduler/cluster/pending_pods.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cycle/cluster_events.hpp"
#include "scheduler/cycle/rejections.hpp"

namespace berth::cycle {

using framework::QueuedPod;
using framework::QueuedPodPtr;
using record::Result;

namespace {

// Different for a group that was deleted and created again.
std::string VersionOf(const api::PodGroup& group) {
  return group.metadata.uid + '/' + group.metadata.resource_version;
}

// The number of nodes evaluated by filters, as counted by kube-scheduler: nodes excluded by PreFilter do not
// count.
std::size_t EvaluatedNodes(const record::AttemptRecord& record) {
  std::size_t count = record.feasible.Count();
  for (const record::Rejection& rejection : record.rejections) count += rejection.rows.Count();
  for (const record::PluginReasons& part : record.row_reasons) count += part.reasons.rows.size();
  return count;
}

CycleMetrics::Result ResultOf(const framework::Status& status) {
  if (status.ok()) return CycleMetrics::kScheduled;
  return status.rejected() ? CycleMetrics::kUnschedulable : CycleMetrics::kError;
}

queue::GroupOutcome OutcomeOf(framework::Code code) {
  if (code == framework::Code::kSuccess) return queue::GroupOutcome::kScheduled;
  const bool rejected = framework::Status{code, {}, {}}.rejected();
  return rejected ? queue::GroupOutcome::kRejected : queue::GroupOutcome::kError;
}

// The record of a member that is not bound. A member that was not tried has one for the sake of its group.
std::shared_ptr<record::AttemptRecord> FailureRecord(const MemberResult& member,
                                                     const runtime::Profile& profile, bool rejected,
                                                     const std::string& message,
                                                     std::shared_ptr<const record::GroupRecord> of_group) {
  std::shared_ptr<record::AttemptRecord> record = member.decision.record;
  if (record == nullptr) {
    record = std::make_shared<record::AttemptRecord>();
    record->pod = member.pod->info.key;
    record->scheduler_name = profile.name();
  }
  record->result = rejected ? Result::kUnschedulable : Result::kError;
  record->message = message;
  record->group = std::move(of_group);
  return record;
}

// Groups of other projects may have no object; a member stands for them.
ports::ObjectReference ReferenceToGroup(const framework::QueuedGroup& group) {
  if (group.object->external != nullptr) return ports::ReferenceTo(*group.leading_pod().info.pod, "v1");
  if (group.object->composite) {
    const api::CompositePodGroup& composite = static_cast<const api::CompositePodGroup&>(*group.object);
    return ports::ReferenceTo(composite, "scheduling.k8s.io/v1alpha3");
  }
  return ports::ReferenceTo(*group.object, "scheduling.k8s.io/v1beta1");
}

Preemptor PreemptorOf(const framework::QueuedGroup& group) {
  const api::ObjectMeta& meta = group.object->metadata;
  Preemptor preemptor{
      .kind = group.object->composite ? Preemptor::Kind::kCompositePodGroup : Preemptor::Kind::kPodGroup,
      .uid = meta.uid,
      .key = group.key,
      .scheduler_name = group.leading_pod().info.pod->spec.scheduler_name.str(),
      .priority = group.priority,
      .object = ReferenceToGroup(group),
      .pods = {}};
  for (const QueuedPodPtr& pod : group.members) preemptor.pods.push_back(pod->info.key);
  return preemptor;
}

Preemptor PreemptorOf(const QueuedPod& pod) {
  const api::Pod& object = *pod.info.pod;
  return {.kind = Preemptor::Kind::kPod,
          .uid = object.metadata.uid,
          .key = pod.info.key,
          .scheduler_name = object.spec.scheduler_name.str(),
          .priority = object.spec.priority,
          .object = ports::ReferenceTo(object, "v1"),
          .pods = {pod.info.key}};
}

}  // namespace

void OutcomeHandler::Skip(const QueuedPodPtr& pod) {
  const api::Pod& object = *pod->info.pod;
  if (object.metadata.deleting()) {
    parts_.handle.events.Emit({ports::Event::Type::kWarning, "FailedScheduling", "Scheduling",
                               "skip schedule deleting pod: " + pod->info.key, object.spec.scheduler_name,
                               pod->info.pod});
  }
  parts_.queue.Done(object.metadata.uid);
}

void OutcomeHandler::Begin(const QueuedPodPtr& pod) {
  if (const auto log = log::V(3))
    log.Info("Attempting to schedule pod", {{"pod", log::Value::Object(pod->info.key)}});
  BeginTrace(pod);
}

void OutcomeHandler::BeginTrace(const QueuedPodPtr& pod) {
  pod->trace = nullptr;
  if (!parts_.tracer.ShouldTrace()) return;
  pod->trace = std::make_shared<tracing::AttemptTrace>();
  pod->trace->pod = pod->info.key;
  pod->trace->uid = pod->info.pod->metadata.uid;
  pod->trace->profile = parts_.profiles[pod->profile]->name();
  pod->trace->attempt = pod->attempts;
  pod->trace->begin = pod->attempt_started;
}

void OutcomeHandler::Apply(const QueuedPodPtr& pod, algorithm::ScheduleResult result) {
  parts_.metrics.algorithm.Observe(
      std::chrono::duration<double>(parts_.clock.Now() - pod->attempt_started).count());
  if (result.abandoned) return EndAttempt(pod, Abandoned());
  Keep(result.record);
  if (result.record->result == Result::kScheduled) return StartBinding(pod, std::move(result));
  if (result.preemption) {
    ReportEviction({pod->info.key, pod->info.priority(), pod->info.pod}, result.preemption->victims);
    parts_.evictions.Start(PreemptorOf(*pod), {.plugin = std::move(result.preemption->plugin),
                                               .place = std::move(result.preemption->node),
                                               .victims = std::move(result.preemption->victims),
                                               .violations = result.preemption->violations,
                                               .disrupted_groups = 0});
  }
  EndAttempt(pod, {.rejected = result.record->result == Result::kUnschedulable,
                   .message = result.record->message,
                   .rejectors = std::move(result.rejectors),
                   .pending = std::move(result.pending),
                   .nominate = std::move(result.nominate)});
}

// The plugins of other profiles protect the same pods.
void OutcomeHandler::ReportEviction(const framework::Preemptor& preemptor,
                                    std::span<const api::PodPtr> victims) const {
  for (const auto& profile : parts_.profiles) profile->OnEviction(preemptor, victims);
}

// --- groups ---

void OutcomeHandler::ApplyGroup(const framework::QueuedGroup& group, GroupResult result) {
  parts_.metrics.Groups().algorithm.Observe(std::chrono::duration<double>(result.took).count());
  // First, so that no member becomes ready before its victims are known.
  std::vector<std::shared_ptr<const record::GroupRecord>> records;
  std::shared_ptr<const record::GroupTreeRecord> tree;
  if (group.tree != nullptr) tree = std::make_shared<const record::GroupTreeRecord>(RecordOfTree(result));
  const auto record = [&](const framework::QueuedGroup& of, const GroupResult& its) {
    record::GroupRecord one = RecordOf(of, its, result.preemption);
    one.tree = tree;
    records.push_back(std::make_shared<const record::GroupRecord>(std::move(one)));
  };
  if (group.tree == nullptr) record(group, result);
  for (const LeafResult& leaf : result.leaves) record(leaf.group, leaf.result);
  if (result.preemption && !result.abandoned) {
    ReportEviction({group.key, group.priority, group.leading_pod().info.pod}, result.preemption->victims);
    parts_.evictions.Start(PreemptorOf(group), *std::move(result.preemption));
  }
  if (group.tree == nullptr) ApplyMembers(group, result, records.front());
  for (std::size_t i = 0; i < result.leaves.size(); ++i)
    ApplyMembers(result.leaves[i].group, result.leaves[i].result, records[i]);
  if (result.abandoned) return parts_.queue.EndGroup(group, queue::GroupOutcome::kError);
  parts_.metrics.GroupAttempt(
      group.leading_pod().profile,
      result.waits_for_evictions ? CycleMetrics::kWaitingOnPreemption : ResultOf(result.status),
      parts_.clock.Now() - group.attempt_started);
  parts_.queue.EndGroup(group, OutcomeOf(result.searched));
}

void OutcomeHandler::ApplyMembers(const framework::QueuedGroup& group, GroupResult& result,
                                  const std::shared_ptr<const record::GroupRecord>& record) {
  for (MemberResult& member : result.members) ApplyMember(member, result, record);
  if (!result.abandoned) WriteGroupCondition(group.object, result.status);
}

void OutcomeHandler::ApplyMember(MemberResult& member, const GroupResult& group,
                                 const std::shared_ptr<const record::GroupRecord>& of_group) {
  const QueuedPodPtr& pod = member.pod;
  // As if the member had been scheduled on its own.
  pod->attempt_started = parts_.clock.Now() - member.took;
  const std::shared_ptr<record::AttemptRecord> record = member.decision.record;
  if (member.tried()) parts_.metrics.algorithm.Observe(std::chrono::duration<double>(member.took).count());
  if (group.abandoned) return EndAttempt(pod, Abandoned());
  if (group.status.ok() && member.placed()) {
    record->group = of_group;
    Keep(record);
    return StartBinding(pod, std::move(member.decision));
  }
  Failure failure = MemberFailure(member, group);
  Keep(FailureRecord(member, *parts_.profiles[pod->profile], failure.rejected, failure.message, of_group));
  EndAttempt(pod, std::move(failure));
}

OutcomeHandler::Failure OutcomeHandler::MemberFailure(MemberResult& member, const GroupResult& group) {
  Failure failure;
  const bool group_failed = !group.status.ok() && !group.status.rejected();
  if (group_failed) {
    const bool own = member.tried() && !member.status.ok() && !member.status.rejected();
    failure.message = (own ? member.status : group.status).Message();
    failure.nominate = "";
    return failure;
  }
  failure.rejected = true;
  if (member.placed()) {
    failure.message = (group.waits_for_evictions ? group.status : RejectedWithGroup(group.status)).Message();
    failure.nominate = group.waits_for_evictions ? std::move(member.decision.nominate) : "";
    failure.of_group = true;
    return failure;
  }
  failure.message = member.status.Message();
  failure.of_group = !member.tried();
  failure.rejectors = std::move(member.decision.rejectors);
  failure.pending = std::move(member.decision.pending);
  failure.nominate = std::move(member.decision.nominate);
  return failure;
}

void OutcomeHandler::FailGroup(const framework::QueuedGroup& group, const std::string& why) {
  for (const QueuedPodPtr& pod : group.members) {
    pod->attempt_started = parts_.clock.Now();
    EndAttempt(pod, {.rejected = false, .message = why, .rejectors = {}, .pending = {}, .nominate = ""});
  }
  if (group.tree == nullptr) {
    WriteGroupCondition(group.object, framework::Status::Error(why));
  } else {
    FailGroupsOf(*group.tree, why);
  }
  parts_.queue.EndGroup(group, queue::GroupOutcome::kError);
}

// Composite groups have no condition.
void OutcomeHandler::FailGroupsOf(const cluster::GroupTree& tree, const std::string& why) {
  if (!tree.object->composite) WriteGroupCondition(tree.object, framework::Status::Error(why));
  for (const cluster::GroupTree& child : tree.children) FailGroupsOf(child, why);
}

// Once true, the condition is never set back: also when the watch has not yet delivered the group with the
// written condition, because the next cycle of the other members begins at once. Other projects write the
// status of their groups.
void OutcomeHandler::WriteGroupCondition(const api::PodGroupPtr& group, const framework::Status& status) {
  static constexpr const char* kType = "PodGroupInitiallyScheduled";
  if (parts_.gate.Leaving() || group->external != nullptr) return;
  const auto& conditions = group->conditions;
  const auto existing = std::ranges::find(conditions, kType, &api::PodGroupCondition::type);
  if (existing != conditions.end() && existing->status == "True" && !status.ok()) return;
  if (status.ok()) {
    RememberScheduled(*group);
  } else if (const auto written = scheduled_groups_.find(cluster::KeyOf(*group));
             written != scheduled_groups_.end() && written->second == VersionOf(*group)) {
    return;
  }
  ports::PodGroupStatusPatch patch{.current = group,
                                   .condition = {.type = kType,
                                                 .status = status.ok() ? "True" : "False",
                                                 .reason = status.ok()         ? "Scheduled"
                                                           : status.rejected() ? "Unschedulable"
                                                                               : "SchedulerError",
                                                 .message = status.Message(),
                                                 .observed_generation = group->metadata.generation}};
  parts_.handle.api.PatchPodGroupStatus(
      std::move(patch), [key = group->metadata.Key()](Expected<void> written) {
        if (!written && written.error().code != ErrorCode::kCancelled) {
          log::Error("Failed to update PodGroup status",
                     {{"podGroup", log::Value::Object(key)}, {"err", written.error().message}});
        }
      });
}

// Deleted groups are forgotten when they are the majority, which takes constant time for each group on
// average.
void OutcomeHandler::RememberScheduled(const api::PodGroup& group) {
  if (scheduled_groups_.size() > 2 * parts_.handle.groups.size())
    std::erase_if(scheduled_groups_,
                  [&](const auto& entry) { return parts_.handle.groups.FindObject(entry.first) == nullptr; });
  scheduled_groups_.insert_or_assign(cluster::KeyOf(group), VersionOf(group));
}

// --- a node was found ---

void OutcomeHandler::StartBinding(const QueuedPodPtr& pod, algorithm::ScheduleResult result) {
  if (log::V(2)) {
    pod->evaluated_nodes = static_cast<std::uint32_t>(EvaluatedNodes(*result.record));
    pod->feasible_nodes = static_cast<std::uint32_t>(result.record->feasible.Count());
  }
  BERTH_CHECK(result.record->feasible.get().Has(result.row), pod->info.key, result.row);
  // Pods that the cluster state contains were skipped, and no change is applied during a decision.
  const bool assumed = parts_.cluster.Assume(pod->info, result.row);
  BERTH_CHECK(assumed, pod->info.key, pod->info.pod->metadata.uid);
  parts_.handle.groups.Assume(*pod->info.pod, parts_.cluster.nodes().name(result.row));
  parts_.queue.nominator().Delete(pod->info.pod->metadata.uid);
  parts_.bindings.Start(pod, parts_.profiles[pod->profile], parts_.cluster.nodes().name(result.row),
                        std::move(result.state));
}

void OutcomeHandler::OnNominated(const QueuedPodPtr& pod, const std::string& node) {
  ports::PodStatusPatch patch;
  patch.nomination = node;
  pod->nominated = node;
  WriteStatus(pod->info, std::move(patch));
}

void OutcomeHandler::OnPermitDone(const QueuedPodPtr& pod) { parts_.queue.Done(pod->info.pod->metadata.uid); }

void OutcomeHandler::OnBound(const QueuedPodPtr& pod, const std::string& node) {
  const MonoTime now = parts_.clock.Now();
  parts_.handle.events.Emit({.type = ports::Event::Type::kNormal,
                             .reason = "Scheduled",
                             .action = "Binding",
                             .note = fmt::format("Successfully assigned {} to {}", pod->info.key, node),
                             .controller = pod->info.pod->spec.scheduler_name,
                             .regarding = pod->info.pod,
                             .routine = pod->attempts <= 1});
  if (const auto log = log::V(2))
    log.Info("Successfully bound pod to node", {{"pod", log::Value::Object(pod->info.key)},
                                                {"node", node},
                                                {"evaluatedNodes", pod->evaluated_nodes},
                                                {"feasibleNodes", pod->feasible_nodes}});
  parts_.metrics.Attempt(pod->profile, CycleMetrics::kScheduled, now - pod->attempt_started);
  parts_.metrics.Bound(*pod, now);
}

void OutcomeHandler::OnCompleted(const QueuedPodPtr& pod, const std::string& node) {
  EndTrace(*pod, "scheduled", node, "");
}

// --- no node was found, or the binding failed ---

void OutcomeHandler::OnBindingFailed(const QueuedPodPtr& pod, const std::string& node,
                                     framework::Status status, bool while_binding) {
  const std::string& uid = pod->info.pod->metadata.uid;
  log::Error("Failed to place pod",
             {{"pod", log::Value::Object(pod->info.key)}, {"node", node}, {"err", status.Message()}});
  if (parts_.cluster.Forget(uid)) parts_.handle.groups.Forget(*pod->info.pod);
  const bool rejected = status.rejected();
  Failure failure = BindingFailure(uid, std::move(status), while_binding);
  if (!while_binding) return EndAttempt(pod, std::move(failure));
  // To other pods this looks like a pod that left its node: its resources are free, and so is whatever
  // Unreserve released.
  auto assumed = std::make_shared<api::Pod>(*pod->info.pod);
  assumed->spec.node_name = node;
  const framework::EventObjects objects{std::move(assumed), nullptr};
  if (!rejected) {
    parts_.queue.MoveAll(kAssignedPodDeleted, objects);
    EndAttempt(pod, std::move(failure));
  } else {
    EndAttempt(pod, std::move(failure));
    parts_.queue.MoveAll(kAssignedPodDeleted, objects,
                         [uid](const QueuedPod& other) { return other.info.pod->metadata.uid != uid; });
  }
}

// A rejection by PreBind or Bind is reported unchanged, and no event requeues the pod.
OutcomeHandler::Failure OutcomeHandler::BindingFailure(const std::string& uid, framework::Status status,
                                                       bool while_binding) const {
  Failure failure;
  failure.rejected = status.rejected();
  failure.message = status.Message();
  failure.nominate = "";
  if (!status.rejected() || (while_binding && !parts_.queue.IsInFlight(uid))) return failure;
  failure.rejectors = {std::string(status.plugin)};
  if (status.code == framework::Code::kPending) failure.pending = failure.rejectors;
  failure.message = RejectedOnOneNode(std::move(status)).Message();
  return failure;
}

void OutcomeHandler::EndAttempt(const QueuedPodPtr& pod, Failure failure) {
  if (failure.reported) {
    parts_.metrics.Attempt(pod->profile,
                           failure.rejected ? CycleMetrics::kUnschedulable : CycleMetrics::kError,
                           parts_.clock.Now() - pod->attempt_started);
  }
  if (const auto log = log::V(2)) {
    log.Info(failure.of_group   ? "Unable to schedule pod belonging to a pod group; waiting"
             : failure.rejected ? "Unable to schedule pod; no fit; waiting"
                                : "Error scheduling pod; retrying",
             {{"pod", log::Value::Object(pod->info.key)}, {"err", failure.message}});
  }
  EndTrace(*pod, failure.rejected ? "unschedulable" : "error", "", failure.message);
  const std::string& uid = pod->info.pod->metadata.uid;
  const api::PodPtr latest = parts_.pods.FindPending(pod->info.key, uid);
  // Deleted, bound by another scheduler, or recreated with the same name.
  if (latest == nullptr) return parts_.queue.Done(uid);
  // A reload has removed its profile since the attempt began.
  if (!parts_.profiles.IsInUse(pod->profile)) return LeaveQueue(pod);
  failure.written_nomination = std::exchange(pod->nominated, {});
  const QueuedPodPtr requeued = Requeue(pod, latest, failure);
  if (failure.reported && !parts_.gate.Leaving()) ReportFailure(*requeued, std::move(failure));
}

void OutcomeHandler::LeaveQueue(const QueuedPodPtr& pod) {
  const std::string& uid = pod->info.pod->metadata.uid;
  const api::PodPtr latest = parts_.pods.FindPending(pod->info.key, uid);
  parts_.queue.Done(uid);
  if (latest == nullptr) return;
  parts_.queue.nominator().Delete(uid);
  parts_.pods.Remove(pod->info.key);
  parts_.handle.groups.Remove(*latest);
  parts_.handle.pending.Remove(uid);
  parts_.unclaimed.Put(latest);
}

// Requeues the pod with its latest object. The attempt's own copy is not modified, because asynchronous calls
// may still refer to it.
QueuedPodPtr OutcomeHandler::Requeue(const QueuedPodPtr& attempted, const api::PodPtr& latest,
                                     Failure& failure) {
  QueuedPodPtr pod = attempted;
  if (latest != attempted->info.pod) {
    pod = std::make_shared<QueuedPod>(*attempted);
    pod->info = cluster::PreparePod(latest, parts_.handle.symbols);
  }
  pod->rejectors = std::move(failure.rejectors);
  pod->pending = std::move(failure.pending);
  pod->gated_by.clear();
  parts_.queue.Requeue(pod);
  // Set before the API server confirms it, because scheduling continues meanwhile.
  std::optional<cluster::NodeNameId> nominated;
  if (failure.nominate) {
    nominated = failure.nominate->empty() ? cluster::NodeNameId{}
                                          : parts_.handle.symbols.node_names.Intern(*failure.nominate);
  }
  parts_.queue.nominator().Set(pod, nominated);
  return pod;
}

void OutcomeHandler::ReportFailure(const QueuedPod& pod, Failure failure) {
  parts_.handle.events.Emit({ports::Event::Type::kWarning, "FailedScheduling", "Scheduling", failure.message,
                             pod.info.pod->spec.scheduler_name, pod.info.pod});
  ports::PodStatusPatch patch;
  patch.reason = failure.rejected ? "Unschedulable" : "SchedulerError";
  patch.message = std::move(failure.message);
  patch.observed_generation = pod.info.pod->metadata.generation;
  patch.nomination = std::move(failure.nominate);
  patch.written_nomination = std::move(failure.written_nomination);
  WriteStatus(pod.info, std::move(patch));
}

// --- helpers ---

OutcomeHandler::Failure OutcomeHandler::Abandoned() {
  Failure failure;
  failure.message = kWaitCancelled;
  failure.reported = false;
  return failure;
}

void OutcomeHandler::Keep(std::shared_ptr<const record::AttemptRecord> record) {
  parts_.records.Add(std::move(record), parts_.clock.WallNow());
  parts_.metrics.Recorded(parts_.records);
}

void OutcomeHandler::EndTrace(QueuedPod& pod, std::string_view result, std::string_view node,
                              std::string_view message) {
  if (pod.trace == nullptr) return;
  const auto trace = std::exchange(pod.trace, nullptr);
  trace->end = parts_.clock.Now();
  trace->result = result;
  trace->node = node;
  trace->message = message;
  parts_.tracer.Finished(std::move(*trace));
}

void OutcomeHandler::WriteStatus(const cluster::PodInfo& pod, ports::PodStatusPatch patch) {
  patch.ns = pod.pod->metadata.ns;
  patch.name = pod.pod->metadata.name;
  patch.current = pod.pod;
  parts_.handle.api.PatchPodStatus(std::move(patch), [key = pod.key](Expected<void> written) {
    if (!written && written.error().code != ErrorCode::kCancelled &&
        written.error().code != ErrorCode::kNotFound) {
      log::Error("Failed to patch pod status",
                 {{"pod", log::Value::Object(key)}, {"err", written.error().message}});
    }
  });
}

}  // namespace berth::cycle
