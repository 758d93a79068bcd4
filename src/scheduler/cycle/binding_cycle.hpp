// Binding cycles: from a decision to a bound pod by Reserve, Permit, PreBind, Bind and PostBind, and the
// rollback if one of them fails (kube-scheduler v1.37.1).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/text_map.hpp"
#include "base/timer_queue.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "scheduler/cycle/decision_gate.hpp"
#include "scheduler/extenders/extenders.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/runtime/profile_list.hpp"

namespace berth::cycle {

struct BindingOptions {
  // A Bind plugin that has not completed by then has failed. Permit and PreBind plugins set their own limits.
  Duration bind_deadline = std::chrono::minutes(2);
};

// Receives the results of binding cycles. All methods are called on the loop's thread.
class BindingObserver {
 public:
  virtual ~BindingObserver() = default;
  // The pod waits in Permit or PreBind; its nomination should be visible in its status.
  virtual void OnNominated(const framework::QueuedPodPtr& pod, const std::string& node) = 0;
  // Permit has succeeded: plugins can no longer reject the pod.
  virtual void OnPermitDone(const framework::QueuedPodPtr& pod) = 0;
  virtual void OnBound(const framework::QueuedPodPtr& pod, const std::string& node) = 0;
  // The pod is bound and the PostBind plugins have run; the attempt is complete.
  virtual void OnCompleted(const framework::QueuedPodPtr& pod, const std::string& node) = 0;
  // Unreserve has run. The assumed pod must be forgotten and requeued. `while_binding`: other pods may have
  // been rejected because of the assumed pod and must be requeued too.
  virtual void OnBindingFailed(const framework::QueuedPodPtr& pod, const std::string& node,
                               framework::Status status, bool while_binding) = 0;
  // Plugins request that these waiting pods ("namespace/name") are retried immediately.
  virtual void OnActivated(std::span<const std::string> pods) = 0;
};

// All pods between assumption and binding. The loop never blocks: asynchronous plugins complete with a
// message, and each message advances its pod by one step. Scheduler loop only.
class BindingCycles {
 public:
  struct Parts {
    const Clock& clock;
    TimerQueue& timers;            // of the loop's thread
    ClusterLoop::StepPoster post;  // queues a cycle's next step for the loop's thread
    const DecisionGate& gate;      // guards bindings by extenders
    BindingObserver& observer;
    std::shared_ptr<extenders::Extenders> extenders;  // those with a bind verb replace plugins
  };
  BindingCycles(BindingOptions options, Parts parts) : options_(options), parts_(std::move(parts)) {}
  ~BindingCycles();
  BindingCycles(const BindingCycles&) = delete;
  BindingCycles& operator=(const BindingCycles&) = delete;

  // Starts the cycle of a pod that is assumed on the node. Ends with OnCompleted or OnBindingFailed, possibly
  // before this returns. The cycle uses this profile, and the extenders of this time, until its end.
  void Start(const framework::QueuedPodPtr& pod, runtime::ProfileList::Pointer profile, std::string node,
             framework::CycleState state);
  // Cycles that start from now on use these extenders.
  void UseExtenders(std::shared_ptr<extenders::Extenders> extenders) {
    parts_.extenders = std::move(extenders);
  }

  std::size_t size() const { return cycles_.size(); }
  // Ends all cycles with OnBindingFailed. Returns the number of cycles whose binding had been requested.
  std::size_t Abandon(const std::string& why);
  // Null if the pod does not wait for Permit.
  framework::WaitingPod* FindWaiting(std::string_view uid);
  void ForEachWaiting(const std::function<void(framework::WaitingPod&)>& visit);
  // Requests cancellation of the pod's PreBind plugins. When they have completed, the binding fails with
  // `message` (that of the first call). Returns false if the pod is not in PreBind.
  bool CancelPreBind(std::string_view uid, std::string message);
  // True until the result of the pod's last PreBind plugin is handled, also after CancelPreBind.
  bool IsInPreBind(std::string_view uid) const;
  // Requests that all PreBind plugins return. For the end of the scheduler: no result is handled after it.
  void RequestStops();

 private:
  struct Cycle;
  using CyclePtr = std::shared_ptr<Cycle>;
  // What cycles use until their end, also after a reload. Callbacks of writes may keep a cycle longer than
  // the scheduler and what its plugins refer to, so this object releases it before.
  struct Configuration {
    runtime::ProfileList::Pointer profile;
    std::shared_ptr<extenders::Extenders> extenders;
  };

  std::shared_ptr<Configuration> ConfigurationOf(runtime::ProfileList::Pointer profile);
  bool ReserveAndPermit(const CyclePtr& cycle);
  void AfterPermit(const CyclePtr& cycle);
  void StartPreBindGroup(const CyclePtr& cycle);
  bool CountCompletion(const CyclePtr& cycle, std::uint64_t step);
  void OnPreBindDone(const CyclePtr& cycle, std::uint64_t step, framework::Status status);
  void StartBindPoint(const CyclePtr& cycle);
  void StartExtenderBind(const CyclePtr& cycle, std::size_t index);
  void OnExtenderReply(const CyclePtr& cycle, std::uint64_t step, std::size_t index,
                       const extenders::Extender::PendingCall& pending, Expected<extenders::Reply> reply);
  void StartBind(const CyclePtr& cycle, std::size_t plugin);
  void OnBound(const CyclePtr& cycle);
  void OnBindDone(const CyclePtr& cycle, std::uint64_t step, std::size_t plugin, framework::Status status);
  void OnPermitVerdict(const CyclePtr& cycle);  // the wait in Permit has ended
  void OnPointEnd(const CyclePtr& cycle, framework::Code code);
  void Fail(const CyclePtr& cycle, framework::Status status, bool while_binding);
  void End(const CyclePtr& cycle);
  static void DropState(Cycle& cycle);
  void OnDeadline(const CyclePtr& cycle);
  void SetPermitDeadline(const CyclePtr& cycle);
  void SetDeadline(const CyclePtr& cycle, Duration delay);
  void DropDeadline(const CyclePtr& cycle);

  const BindingOptions options_;
  Parts parts_;
  TextMap<CyclePtr> cycles_;  // by UID
  // Of all cycles that exist: one for each profile and reload.
  std::vector<std::weak_ptr<Configuration>> configurations_;
};

}  // namespace berth::cycle
