// The scheduler loop: the single thread that owns the queue, the cache and all decisions, and the work done
// on it.
#pragma once

#include <atomic>
#include <boost/unordered_map.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/lease_fence.hpp"
#include "kubernetes/ports/ports.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/algorithm/current_view.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cycle/binding_cycle.hpp"
#include "scheduler/cycle/cluster_events.hpp"
#include "scheduler/cycle/mailbox.hpp"
#include "scheduler/cycle/worker_pool.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "scheduler/record/record_ring.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::cycle {

struct SchedulerOptions {
  queue::QueueOptions queue;
  algorithm::AlgorithmOptions algorithm;
  BindingOptions binding;
  std::size_t record_bytes = 64u << 20;  // memory limit of the attempt records kept for explanations
  std::size_t blocking_threads = 16;     // threads for plugins whose PreBind or Bind blocks
  bool stand_by = false;                 // follow the cluster, but schedule nothing until Lead is called
};

// The components the loop works with; all must outlive the scheduler. From Run on, the symbol table, the
// cache and the profiles belong to the loop's thread.
struct SchedulerParts {
  framework::Handle& handle;  // its services are set to this scheduler during the scheduler's lifetime
  cluster::ClusterState& cache;
  std::span<const std::unique_ptr<runtime::Profile>> profiles;
  ports::EventSink& events;
  const Clock& clock;
  metrics::Registry& metrics;
  tracing::Tracer* tracer = nullptr;  // null: no traces
  // Null: no leader election. Checked before each decision. When it closes, decisions in progress are
  // reverted without a write to the API server.
  const LeaseFence* fence = nullptr;
  extenders::Extenders* extenders = nullptr;  // null: no extenders
};

// One iteration of the loop handles the messages that arrived, runs due timers, and schedules one pod. The
// loop never waits for I/O: bindings are sent through ApiWriter, and their results return as messages.
// The one exception is a decision that needs an extender: the iteration continues only when the extender has
// responded. Meanwhile messages stay in the mailbox, except successful steps of binding cycles, which are
// executed.
// Invariant: a pod is bound, or in exactly one place of the queue, or in flight between the two.
class Scheduler final : public framework::SchedulerServices, private queue::QueuePolicy, private BindingHost {
 public:
  Scheduler(SchedulerOptions options, SchedulerParts parts);
  ~Scheduler() override;

  // --- any thread ---
  // Receives the cluster's changes.
  ports::ClusterSink& sink() { return *mailbox_; }
  void Post(std::move_only_function<void()> work) override { mailbox_->Post(std::move(work)); }
  framework::Poster poster() const override {
    return [mailbox = mailbox_](std::move_only_function<void()> work) { mailbox->Post(std::move(work)); };
  }
  void RunBlocking(std::move_only_function<void()> work) override { workers_.Post(std::move(work)); }
  // Makes Run return after the current iteration.
  void Stop();
  bool synced() const { return synced_.load(std::memory_order_relaxed); }
  // Ends stand-by. Scheduling starts when everything that was delivered before this call has been handled.
  void Lead();
  // Stops scheduling; Run returns when no binding is in progress. Pods that wait for Permit are requeued
  // immediately; after `patience`, so are pods whose binding has not completed.
  void Drain(Duration patience);
  // After Drain: the number of requested bindings without a result, which the API server may still execute.
  std::size_t unconfirmed_bindings() const { return unconfirmed_bindings_; }

  // --- the loop's thread ---
  // Returns after Stop or a completed Drain.
  void Run();
  // One iteration without waiting. Returns false if there was nothing to do. For tests and simulations.
  bool RunOnce();
  void PostAfter(Duration delay, std::move_only_function<void()> work) override {
    timers_.emplace(parts_.clock.Now() + delay, std::move(work));
  }
  framework::WaitingPod* FindWaitingPod(std::string_view uid) override { return bindings_.FindWaiting(uid); }
  void ForEachWaitingPod(const std::function<void(framework::WaitingPod&)>& visit) override {
    bindings_.ForEachWaiting(visit);
  }
  void PublishEvent(const framework::ClusterEvent& event, const framework::EventObjects& objects) override {
    queue_.MoveAll(event, objects);
  }
  void Activate(std::span<const std::string> pods) override;
  bool CancelPreBind(std::string_view uid, std::string message) override {
    return bindings_.CancelPreBind(uid, std::move(message));
  }
  std::vector<api::PodPtr> NominatedPods(std::string_view node) const override;
  api::PodPtr FindPod(const api::ObjectMeta& pod) const override;

  // The last received versions, in no defined order: pods with a node, and pods without a node that a profile
  // of this scheduler is responsible for.
  std::vector<api::PodPtr> Pods() const;

  const queue::SchedulingQueue& queue() const { return queue_; }
  const record::RecordRing& records() const { return records_; }

 private:
  struct Metrics;
  class HandlingTimer;

  // --- changes of the cluster (cluster_changes.cpp) ---
  void Handle(ports::Change<api::Pod>& change);
  void Handle(ports::Change<api::Node>& change);
  // Stores objects of all other kinds for lookups by plugins, and publishes the event of the change.
  template <class T>
  void Handle(ports::Change<T>& change) {
    parts_.cache.objects().Apply(change);
    if (const auto event = EventOf(change)) RequeueOnEvent(*event, {change.before, change.after});
  }
  // Requeues the pods that the event may make schedulable, and measures the time this takes.
  void RequeueOnEvent(const framework::ClusterEvent& event, const framework::EventObjects& objects);
  void Handle(Synced&);
  void Handle(Work& work);
  void Handle(Wake&) {}
  // --- stand-by, leading, draining (leadership.cpp) ---
  bool MayDecide();
  // Failures are not reported while this replica gives up leadership: another replica schedules the pods.
  bool Leaving() const { return draining_ || (parts_.fence != nullptr && !parts_.fence->Open()); }
  // Called repeatedly while a decision waits for an extender: executes successful steps of binding cycles.
  // Returns false if the wait must be cancelled.
  bool PumpBindings();
  void BeginDrain(Duration patience);
  void ContinueDrain();
  // Reports if the node of this pod, which another scheduler bound, is overcommitted now.
  void ReportOvercommitment(const api::Pod& pod);
  void UpdateGauges();

  // Runs due timers. Returns false if there were none.
  bool RunTimers(MonoTime now);
  MonoTime NextDue() const;
  void OnPodGone(const api::PodPtr& pod);
  void OnUnassignedPod(const api::PodPtr& before, const api::PodPtr& pod);
  void OnAssignedPod(const api::PodPtr& before, const api::PodPtr& pod);
  // An assumed pod is being deleted: releases its resources immediately.
  void OnAssumedPodDeleted(const std::string& uid);
  // Requeues pods of at most this pod's priority, because its nomination no longer reserves resources.
  void OnNominationEnded(const api::PodPtr& pod);
  // Index of the profile for the pod's schedulerName; nullopt: another scheduler is responsible.
  std::optional<std::uint32_t> ProfileOf(const api::Pod& pod) const;

  // --- attempts ---
  void ScheduleOne(const framework::QueuedPodPtr& pod);
  bool Skip(const framework::QueuedPod& pod);
  algorithm::ScheduleResult Schedule(const framework::QueuedPod& pod);
  std::span<const runtime::Nomination> Nominations();
  void Place(const framework::QueuedPodPtr& pod, algorithm::ScheduleResult decision);
  struct Failure {
    bool rejected = false;
    std::string message;
    std::vector<std::string> rejectors;
    std::vector<std::string> pending;
    std::optional<std::string> nominate;  // nullopt: unchanged; empty: cleared
    bool quiet = false;                   // the attempt was abandoned: no event, condition or metric
  };
  // Handles a failed attempt: requeues the pod and reports the failure by metrics, event and condition.
  void AttemptFailed(const framework::QueuedPodPtr& pod, Failure failure);
  // The pod with its latest object; the version used by the attempt is not modified.
  framework::QueuedPodPtr WithLatestObject(const framework::QueuedPodPtr& pod, const api::PodPtr& object);
  void BeginTrace(framework::QueuedPod& pod);
  // Completes the trace of the attempt, if there is one, and passes it to the tracer.
  void EndTrace(framework::QueuedPod& pod, std::string_view result, std::string_view node,
                std::string_view message);
  void WriteStatus(const cluster::PodInfo& pod, ports::PodStatusPatch patch);

  // --- BindingHost ---
  MonoTime Now() const override { return parts_.clock.Now(); }
  std::function<std::optional<std::string>()> WriteGuard() const override;
  void ShowNomination(const framework::QueuedPodPtr& pod, const std::string& node) override;
  void OnPermitDone(const framework::QueuedPodPtr& pod) override;
  void Bound(const framework::QueuedPodPtr& pod, const std::string& node) override;
  void Placed(const framework::QueuedPodPtr& pod, const std::string& node) override;
  void Failed(const framework::QueuedPodPtr& pod, const std::string& node, framework::Status status,
              bool while_binding) override;

  // --- QueuePolicy ---
  bool Less(const framework::QueuedPod& a, const framework::QueuedPod& b) const override {
    return parts_.profiles.front()->Less(a, b);
  }
  framework::Status PreEnqueue(const framework::QueuedPod& pod) const override {
    return parts_.profiles[pod.profile]->RunPreEnqueue(pod.info, pod.gated_by);
  }
  bool IsAnyRegistered(const framework::ClusterEvent& event) const override;
  bool IsRegisteredBy(std::uint32_t profile, const std::string& plugin,
                      const framework::ClusterEvent& event) const override {
    return parts_.profiles[profile]->IsRegistered(event, std::span(&plugin, 1));
  }
  framework::Requeue EvaluateHint(const framework::QueuedPod& pod, const framework::ClusterEvent& event,
                                  const framework::EventObjects& objects) const override {
    return parts_.profiles[pod.profile]->EvaluateHint(event, objects, pod.info, pod.rejectors, pod.pending);
  }

  const SchedulerOptions options_;
  const SchedulerParts parts_;
  std::unique_ptr<Metrics> metrics_;
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  std::vector<Message> batch_;
  queue::SchedulingQueue queue_;
  algorithm::SchedulingAlgorithm algorithm_;
  record::RecordRing records_;
  boost::unordered_map<std::string, api::PodPtr> waiting_;  // pods without a node, by namespace/name
  algorithm::CurrentView view_;
  std::vector<runtime::Nomination> nominations_;
  std::multimap<MonoTime, Work> timers_;
  std::atomic<bool> synced_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> cancelling_{false};  // set by Drain: do not wait for extenders
  bool deciding_ = false;
  std::vector<std::string> deferred_activations_;  // Activate calls during a decision
  bool leading_ = false;
  bool draining_ = false;
  MonoTime drain_by_ = MonoTime::max();
  MonoTime next_fence_check_ = MonoTime::max();  // when to check the fence again
  std::size_t unconfirmed_bindings_ = 0;
  BindingCycles bindings_;
  WorkerPool workers_;  // destroyed first: its work refers to the other members
};

}  // namespace berth::cycle
