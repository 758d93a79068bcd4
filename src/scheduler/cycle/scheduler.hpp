// The scheduler: takes pods from the queue, decides, and applies the outcome.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/lease_fence.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/algorithm/current_view.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cycle/binding_cycle.hpp"
#include "scheduler/cycle/class_latency.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "scheduler/cycle/cluster_updates.hpp"
#include "scheduler/cycle/current_nominations.hpp"
#include "scheduler/cycle/cycle_metrics.hpp"
#include "scheduler/cycle/decision_gate.hpp"
#include "scheduler/cycle/evictions.hpp"
#include "scheduler/cycle/group_cycle.hpp"
#include "scheduler/cycle/measurement_wait.hpp"
#include "scheduler/cycle/outcome_handler.hpp"
#include "scheduler/cycle/overcommitment.hpp"
#include "scheduler/cycle/pod_directory.hpp"
#include "scheduler/cycle/profile_policy.hpp"
#include "scheduler/cycle/scheduler_state.hpp"
#include "scheduler/cycle/services_proxy.hpp"
#include "scheduler/cycle/unclaimed_pods.hpp"
#include "scheduler/cycle/worker_pool.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "scheduler/record/record_ring.hpp"
#include "scheduler/runtime/profile_list.hpp"

namespace berth::cycle {

struct SchedulerOptions {
  queue::QueueOptions queue;
  algorithm::AlgorithmOptions algorithm;
  BindingOptions binding;
  std::size_t record_bytes = 64u << 20;  // memory limit of the attempt records kept for explanations
  std::size_t blocking_threads = 16;     // threads for plugins whose PreBind or Bind blocks
  Duration measurement_wait{};           // limit of the wait for the first measurements; zero: no wait
  ClassLatencyOptions class_latency;     // by default no metric
  bool stand_by = false;                 // follow the cluster, but schedule nothing until Lead is called
};

// The components the scheduler works with; all must outlive it. From Run on, the handle's symbol table, the
// cluster state and the profiles belong to the loop's thread.
struct SchedulerParts {
  ClusterLoop& loop;
  ServicesProxy& services;  // those of the handle; connected to this scheduler during its lifetime
  framework::Handle& handle;
  cluster::ClusterState& cluster;
  const runtime::ProfileList& profiles;
  const Clock& clock;
  metrics::Registry& metrics;
  std::shared_ptr<extenders::Extenders> extenders;  // until Reconfigure; not null
  // Checked before each decision. When it closes, decisions in progress are reverted without a write to the
  // API server.
  const Fence& fence;
  tracing::Tracer& tracer;
  MeasurementWait::IsMeasured is_measured;
};

// Each unit of work schedules one pod or one pod group. The loop never waits for I/O: bindings are sent
// through ApiWriter, and their results return as messages. The one exception is a decision that needs an
// extender: it ends only when the extender has responded. Meanwhile messages stay in the mailbox, except
// successful steps of binding cycles, which are executed. Invariant: a pod is bound, or in exactly one place
// of the queue, or in flight between the two.
class Scheduler final : public ClusterLoop::Handler, private framework::SchedulerServices {
 public:
  Scheduler(SchedulerOptions options, SchedulerParts parts);
  ~Scheduler() override;

  // --- any thread ---
  // Ends stand-by. Scheduling starts when everything that was delivered before this call has been handled.
  void Lead();
  // Stops scheduling; the loop stops when no binding is in progress. Pods that wait for Permit are requeued
  // immediately; after `timeout`, so are pods whose binding has not completed.
  void Drain(Duration timeout);

  // --- the loop's thread ---
  void OnChange(ports::ClusterChange& change) override;
  void OnSynced() override;
  bool DoWork() override;
  MonoTime NextDue() const override;
  // Whether there are extenders, or were: bindings in progress keep those of the former configuration.
  bool MayWait() const override { return had_extenders_; }
  // The last received versions, in no defined order: pods with a node, and pods without a node that a profile
  // of this scheduler is responsible for.
  std::vector<api::PodPtr> Pods() const { return pods_.All(); }
  // The last received version of a pod without a node ("namespace/name"); null if there is none.
  api::PodPtr FindPending(const std::string& key) const { return pods_.FindPending(key); }
  std::size_t nodes() const { return parts_.cluster.nodes().node_count(); }
  // After Drain: the number of requested bindings without a result, which the API server may still execute.
  std::size_t unconfirmed_bindings() const { return unconfirmed_bindings_; }
  // After the loop has stopped: stops PreBind and Bind plugins that run on other threads, also of abandoned
  // bindings, and waits for them. Afterwards no such plugin uses the API and the events of the handle.
  void EndBlockingPlugins();
  // SchedulingQueue::Activate for a pod ("namespace/name"), before the next decision. Then `done` is called,
  // which may read the scheduler's state.
  void RetryNow(std::string pod, std::move_only_function<void()> done);
  // Replaces what derives from the configuration. Not during a decision.
  struct Configuration {
    std::function<void()> replace_profiles;  // replaces the content of SchedulerParts::profiles
    std::shared_ptr<extenders::Extenders> extenders;
    std::int64_t percentage_of_nodes_to_score = 0;
    Duration initial_backoff{}, max_backoff{};
  };
  struct Reconfigured {
    std::size_t left = 0;   // waiting pods whose schedulerName has no profile any more
    std::size_t taken = 0;  // pods without a node whose schedulerName has a profile now
  };
  // Waiting pods keep their places; rejected ones are retried, as after an event that can help every pod.
  // Pods whose schedulerName has no profile any more leave the queue, as in a kube-scheduler that starts with
  // this configuration: they stay pending without further events until a scheduler or a later configuration
  // is responsible. Attempts and bindings in progress finish with their profile. With many pods, retries and
  // moves are made in steps of bounded work, between which other pods are scheduled.
  Reconfigured Reconfigure(Configuration configuration);
  // Whether SchedulerState can ever express the state: with this configuration, everything else that plugins
  // store derives from the objects, or they save it (framework::SavedStatePlugin).
  bool IsSavable() const;
  // Whether it can now: this replica leads, and no attempt, binding, eviction, assumed object, posted work,
  // timer that no state contains, or wait for the first measurements is in progress. The caller must know
  // that no write to the API server is without a result.
  bool CanSave() const;
  // At most so many pods may wait, so that Save takes a few milliseconds.
  static constexpr std::size_t kMaxSavedPods = 20'000;
  // Only if IsSavable and CanSave. Drops cached results, as a scheduler which starts in this state has none.
  // Errors are those of plugins (framework::SavedStatePlugin::SaveState).
  Expected<SchedulerCopy> Save();
  // `nodes` of the cluster in the order in which sampling visits them, which a restored cluster must have.
  std::vector<api::NodePtr> NodesInOrder();
  // This scheduler, with IsSavable, has received the objects of the time of Save, nodes in their order, and
  // has made no decision; its clock shows that time. Then it leads and continues as that one. On an error it
  // must not be used.
  Expected<void> Restore(const SchedulerState& state);
  const queue::SchedulingQueue& queue() const { return queue_; }
  // Pods without a node whose schedulerName has no profile here.
  std::size_t unclaimed_pods() const { return unclaimed_.size(); }
  const record::RecordRing& records() const { return records_; }

 private:
  // --- the scheduling cycle ---
  queue::Popped NextEntry();
  void ScheduleOne(const framework::QueuedPodPtr& pod);
  void ScheduleGroup(const framework::QueuedGroupPtr& group);
  bool MustSkip(const framework::QueuedPod& pod) const;
  algorithm::ScheduleResult Decide(const framework::QueuedPod& pod);
  GroupResult DecideGroup(const framework::QueuedGroup& group);
  void EndDecision();
  // Called repeatedly while a decision waits for an extender: executes successful steps of binding cycles.
  // Returns false if the wait must be cancelled.
  bool PumpBindings();

  // --- reload ---
  Reconfigured FindPodsToMove();
  // Moves pods in one step of bounded work. Returns whether some are left.
  bool MovePods();
  void MoveToUnclaimed(const api::Pod& pod);
  void BeginDrain(Duration timeout);
  void ContinueDrain();
  void ReleaseUnused();
  void RestartSampling();
  // Number of timers that the states of plugins contain.
  std::size_t SavedTimers() const;
  void UpdateGauges();

  // --- SchedulerServices ---
  void RunBlocking(std::move_only_function<void()> work) override { workers_.Post(std::move(work)); }
  framework::WaitingPod* FindWaitingPod(std::string_view uid) override { return bindings_.FindWaiting(uid); }
  void ForEachWaitingPod(const std::function<void(framework::WaitingPod&)>& visit) override {
    bindings_.ForEachWaiting(visit);
  }
  api::PodPtr FindPod(const api::ObjectMeta& pod) const override { return pods_.Find(pod); }
  bool IsPreempting(std::string_view uid) const override { return evictions_.IsPreempting(uid); }
  void PublishEvent(const framework::ClusterEvent& event, const framework::EventObjects& objects) override {
    queue_.MoveAll(event, objects);
  }
  void Activate(std::span<const std::string> pods) override;
  void ActivateMembers(const std::string& group) override;

  // Drops what is pending in the loop after all other members are destroyed.
  struct LoopCleanup {
    ~LoopCleanup() { loop.DropPending(); }
    ClusterLoop& loop;
  };

  SchedulerParts parts_;
  const LoopCleanup cleanup_{parts_.loop};
  CycleMetrics metrics_;
  DecisionGate gate_;
  MeasurementWait measurement_wait_;
  const ProfilePolicy policy_;
  queue::SchedulingQueue queue_;
  PodDirectory pods_;
  UnclaimedPods unclaimed_;
  algorithm::SchedulingAlgorithm algorithm_;
  algorithm::CurrentView view_;
  CurrentNominations nominations_;
  GroupCycle group_cycle_;
  record::RecordRing records_;
  // These three refer to each other.
  BindingCycles bindings_;
  Evictions evictions_;
  OutcomeHandler outcomes_;
  ClusterUpdates updates_;
  OvercommitmentReport overcommitment_;
  // Since the last decision about a group: its members were activated when so many of them were unscheduled.
  struct ActivatedGroup {
    std::string key;
    std::size_t unscheduled = 0;
  };
  std::optional<ActivatedGroup> activated_;
  // Pods that a reload made unclaimed or claimed, the next one last. What applies is tested when one moves.
  std::vector<api::PodPtr> pods_to_move_;
  bool had_extenders_ = false;
  bool deciding_ = false;
  std::vector<std::string> deferred_activations_;  // Activate calls during a decision
  std::atomic<bool> cancelling_{false};            // set by Drain: do not wait for extenders
  MonoTime drain_by_ = MonoTime::max();
  MonoTime next_release_{};
  std::size_t unconfirmed_bindings_ = 0;
  WorkerPool workers_;  // destroyed first: its work refers to the other members
};

}  // namespace berth::cycle
