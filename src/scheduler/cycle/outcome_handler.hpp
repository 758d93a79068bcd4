// The one place where outcomes of scheduling attempts take effect: queue moves, writes, events, conditions,
// metrics, logs and traces.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observability/tracing/attempt_trace.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cycle/binding_cycle.hpp"
#include "scheduler/cycle/cycle_metrics.hpp"
#include "scheduler/cycle/decision_gate.hpp"
#include "scheduler/cycle/evictions.hpp"
#include "scheduler/cycle/group_cycle.hpp"
#include "scheduler/cycle/pod_directory.hpp"
#include "scheduler/cycle/unclaimed_pods.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "scheduler/record/record_ring.hpp"
#include "scheduler/runtime/profile_list.hpp"

namespace berth::cycle {

// An attempt begins with Begin and ends with Skip, or with Apply: the pod is then requeued, gone, or in a
// binding cycle, whose results arrive through BindingObserver. Scheduler loop only.
class OutcomeHandler final : public BindingObserver {
 public:
  struct Parts {
    framework::Handle& handle;
    cluster::ClusterState& cluster;
    queue::SchedulingQueue& queue;
    PodDirectory& pods;
    UnclaimedPods& unclaimed;
    BindingCycles& bindings;
    Evictions& evictions;
    const DecisionGate& gate;
    const runtime::ProfileList& profiles;
    record::RecordRing& records;
    CycleMetrics& metrics;
    const Clock& clock;
    tracing::Tracer& tracer;
  };
  explicit OutcomeHandler(const Parts& parts) : parts_(parts) {}

  // The pod was deleted or assumed before its attempt.
  void Skip(const framework::QueuedPodPtr& pod);
  void Begin(const framework::QueuedPodPtr& pod);
  // The same for a member of a group.
  void BeginTrace(const framework::QueuedPodPtr& pod);
  void Apply(const framework::QueuedPodPtr& pod, algorithm::ScheduleResult result);
  // The same for a group whose attempt has begun; also ends the attempts of its members.
  void ApplyGroup(const framework::QueuedGroup& group, GroupResult result);
  // The members do not belong together, for this reason: none was tried.
  void FailGroup(const framework::QueuedGroup& group, const std::string& why);

  // Ends the attempt of a pod whose profile was removed: no profile is responsible for it any more.
  void LeaveQueue(const framework::QueuedPodPtr& pod);

  // --- BindingObserver ---
  void OnNominated(const framework::QueuedPodPtr& pod, const std::string& node) override;
  void OnPermitDone(const framework::QueuedPodPtr& pod) override;
  void OnBound(const framework::QueuedPodPtr& pod, const std::string& node) override;
  void OnCompleted(const framework::QueuedPodPtr& pod, const std::string& node) override;
  void OnBindingFailed(const framework::QueuedPodPtr& pod, const std::string& node, framework::Status status,
                       bool while_binding) override;
  void OnActivated(std::span<const std::string> pods) override { parts_.handle.scheduler.Activate(pods); }

 private:
  // Why an attempt ended without a binding.
  struct Failure {
    bool rejected = false;  // else an error
    std::string message;
    std::vector<std::string> rejectors;
    std::vector<std::string> pending;
    std::optional<std::string> nominate;  // nullopt: unchanged; empty: cleared
    // The nomination that this attempt has written; empty: none.
    std::string written_nomination = {};
    bool of_group = false;  // no plugin rejected the pod, but its group could not be scheduled
    bool reported = true;   // false: the attempt was abandoned: no event, condition or metric
  };
  static Failure Abandoned();
  // To the plugins that protect pods.
  void ReportEviction(const framework::Preemptor& preemptor, std::span<const api::PodPtr> victims) const;
  // Adds the complete record to those that are kept: their sizes are counted now.
  void Keep(std::shared_ptr<const record::AttemptRecord> record);
  void ApplyMember(MemberResult& member, const GroupResult& group,
                   const std::shared_ptr<const record::GroupRecord>& of_group);
  // Of a member of a group whose attempt ended with this result, if the member is not bound.
  static Failure MemberFailure(MemberResult& member, const GroupResult& group);
  void ApplyMembers(const framework::QueuedGroup& group, GroupResult& result,
                    const std::shared_ptr<const record::GroupRecord>& record);
  void FailGroupsOf(const cluster::GroupTree& tree, const std::string& why);
  void WriteGroupCondition(const api::PodGroupPtr& group, const framework::Status& status);
  void RememberScheduled(const api::PodGroup& group);
  void StartBinding(const framework::QueuedPodPtr& pod, algorithm::ScheduleResult result);
  Failure BindingFailure(const std::string& uid, framework::Status status, bool while_binding) const;
  void EndAttempt(const framework::QueuedPodPtr& pod, Failure failure);
  framework::QueuedPodPtr Requeue(const framework::QueuedPodPtr& pod, const api::PodPtr& latest,
                                  Failure& failure);
  void ReportFailure(const framework::QueuedPod& pod, Failure failure);
  // Completes the trace of the attempt, if there is one, and passes it to the tracer.
  void EndTrace(framework::QueuedPod& pod, std::string_view result, std::string_view node,
                std::string_view message);
  void WriteStatus(const cluster::PodInfo& pod, ports::PodStatusPatch patch);

  const Parts parts_;
  // The versions of the pod groups for which the condition True was written, by cluster::KeyOf: as long as
  // the watch has delivered no later version, the written condition counts. At most about twice as many as
  // there are groups.
  std::map<std::string, std::string, std::less<>> scheduled_groups_;
};

}  // namespace berth::cycle
