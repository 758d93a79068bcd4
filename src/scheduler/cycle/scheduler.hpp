// The scheduler loop: the one thread that owns queue, cache and decisions, and everything that happens on it.
#pragma once

#include <atomic>
#include <boost/unordered_map.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/lease_fence.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cycle/binding_cycle.hpp"
#include "scheduler/cycle/cluster_events.hpp"
#include "scheduler/algorithm/current_view.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/cycle/mailbox.hpp"
#include "scheduler/cycle/worker_pool.hpp"
#include "kubernetes/ports/ports.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "scheduler/record/record_ring.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::cycle {

struct SchedulerOptions {
  queue::QueueOptions queue;
  algorithm::AlgorithmOptions algorithm;
  BindingOptions binding;
  std::size_t record_bytes = 64u << 20;  // how much of the past is kept for explanations
  std::size_t blocking_threads = 16;     // for plugins whose PreBind or Bind blocks
  bool stand_by = false;                 // follow the cluster and decide nothing until Lead
};

// What the loop works with; all of it outlives the scheduler. SymbolTable, cache and profiles belong to the
// loop's thread from Run on.
struct SchedulerParts {
  framework::Handle& handle;  // its services are this scheduler's while it lives
  cluster::ClusterState& cache;
  std::span<const std::unique_ptr<runtime::Profile>> profiles;
  ports::EventSink& events;
  const Clock& clock;
  metrics::Registry& metrics;
  tracing::Tracer* tracer = nullptr;  // null: nobody collects traces
  // Null: without election. Looked at before each decision; what is on its way when it closes is undone
  // without a word to the API server.
  const LeaseFence* fence = nullptr;
  extenders::Extenders* extenders = nullptr;  // null: there are none
};

// Order of a turn: take what arrived, move what is due, decide for one pod. Nothing in it waits for a socket:
// bindings go out by ApiWriter and come back as messages. The one exception is a decision that needs an
// extender: it keeps the turn until the extender has answered. What arrives meanwhile waits, but for the good
// answers of binding cycles, which go on. A pod is bound, waits in exactly one place of the
// queue, or is on its way between these two.
class Scheduler final : public framework::SchedulerServices, private queue::QueuePolicy, private BindingHost {
 public:
  Scheduler(SchedulerOptions options, SchedulerParts parts);
  ~Scheduler() override;

  // --- from any thread
  // ---------------------------------------------------------------------------------------
  // Where the cluster's changes go.
  ports::ClusterSink& sink() { return *mailbox_; }
  void Post(std::move_only_function<void()> work) override { mailbox_->Post(std::move(work)); }
  framework::Poster poster() const override {
    return [mailbox = mailbox_](std::move_only_function<void()> work) { mailbox->Post(std::move(work)); };
  }
  void RunBlocking(std::move_only_function<void()> work) override { workers_.Post(std::move(work)); }
  // Makes Run return after the turn it is in.
  void Stop();
  bool synced() const { return synced_.load(std::memory_order_relaxed); }
  // Ends the standing by: decisions begin when everything that was delivered before this call has been taken
  // in.
  void Lead();
  // Ends the deciding, and Run once no binding is on its way any more. Pods that wait for Permit go back at
  // once; so do, after `patience`, those whose binding has not been answered.
  void Drain(Duration patience);
  // After a Drain: bindings that the API server may still carry out.
  std::size_t unanswered() const { return unanswered_; }

  // --- the loop's thread
  // -------------------------------------------------------------------------------------
  // Until Stop.
  void Run();
  // One turn without waiting; false if there was nothing to do. For tests and simulations.
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

  // As they were last seen, in no particular order: those with a node, and those without that are ours to
  // place.
  std::vector<api::PodPtr> Pods() const;

  const queue::SchedulingQueue& queue() const { return queue_; }
  const record::RecordRing& records() const { return records_; }

 private:
  struct Metrics;
  class HandlingTimer;

  // What happens to the cluster (cluster_changes.cpp).
  void Handle(ports::Change<api::Pod>& change);
  void Handle(ports::Change<api::Node>& change);
  // Every other kind is looked up by plugins, and the pods that its change may help are tried again.
  template <class T>
  void Handle(ports::Change<T>& change) {
    parts_.cache.objects().Apply(change);
    if (const auto event = EventOf(change)) RequeueOnEvent(*event, {change.before, change.after});
  }
  // Tries the pods again that the event may help, and takes the time of that.
  void RequeueOnEvent(const framework::ClusterEvent& event, const framework::EventObjects& objects);
  void Handle(Synced&);
  void Handle(Work& work);
  void Handle(Wake&) {}
  // ReusableResult by, leading, leaving (leading.cpp).
  bool MayDecide();
  // What fails now is nobody's business any more: others decide.
  bool Leaving() const { return draining_ || (parts_.fence != nullptr && !parts_.fence->Open()); }
  // While a decision waits for an extender: what may be done meanwhile; false if it shall not wait any
  // longer.
  bool PumpBindings();
  void BeginDrain(Duration patience);
  void ContinueDrain();
  // Somebody else has bound this pod: does its node hold more than it offers now?
  void CheckRoom(const api::Pod& pod);
  void UpdateGauges();

  // Does what is due; false if nothing was.
  bool RunTimers(MonoTime now);
  MonoTime NextDue() const;
  void PodGone(const api::PodPtr& pod);
  void PodWaiting(const api::PodPtr& before, const api::PodPtr& pod);
  void PodAssigned(const api::PodPtr& before, const api::PodPtr& pod);
  // An assumed pod is being deleted: its place is free for others at once.
  void AssumedPodGoes(const std::string& uid);
  // Pods of at most that priority may profit: they had to leave room for it.
  void NominationEnds(const api::PodPtr& pod);
  // Nothing if no profile has the pod's schedulerName.
  std::optional<std::uint32_t> ProfileOf(const api::Pod& pod) const;

  // Attempts.
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
    std::optional<std::string> nominate;  // nothing: as it was
    bool quiet = false;                   // nobody is told: it was no verdict
  };
  // An attempt failed: the pod goes back to the queue, and everybody is told.
  void AttemptFailed(const framework::QueuedPodPtr& pod, Failure failure);
  framework::QueuedPodPtr Newest(const framework::QueuedPodPtr& pod, const api::PodPtr& object);
  void BeginTrace(framework::QueuedPod& pod);
  // The attempt has ended; who collects traces is told.
  void EndTrace(framework::QueuedPod& pod, std::string_view result, std::string_view node,
                std::string_view message);
  void WriteStatus(const cluster::PodInfo& pod, ports::PodStatusPatch patch);

  // What the binding cycles tell.
  MonoTime Now() const override { return parts_.clock.Now(); }
  std::function<std::optional<std::string>()> WriteGuard() const override;
  void ShowNomination(const framework::QueuedPodPtr& pod, const std::string& node) override;
  void OnPermitDone(const framework::QueuedPodPtr& pod) override;
  void Bound(const framework::QueuedPodPtr& pod, const std::string& node) override;
  void Placed(const framework::QueuedPodPtr& pod, const std::string& node) override;
  void Failed(const framework::QueuedPodPtr& pod, const std::string& node, framework::Status status,
              bool while_binding) override;

  // What the queue asks.
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
  boost::unordered_map<std::string, api::PodPtr>
      waiting_;  // by namespace/name: pods without node, as last seen
  algorithm::CurrentView view_;
  std::vector<runtime::Nomination> nominations_;
  std::multimap<MonoTime, Work> timers_;
  std::atomic<bool> synced_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> cancelling_{false};  // Drain was called: do not wait for extenders
  bool deciding_ = false;
  std::vector<std::string> activate_later_;  // asked for while a decision was waiting
  bool leading_ = false;
  bool draining_ = false;
  MonoTime drain_by_ = MonoTime::max();
  MonoTime look_again_ = MonoTime::max();  // at the fence
  std::size_t unanswered_ = 0;
  BindingCycles bindings_;
  WorkerPool workers_;  // ends first: what it runs speaks of all the others
};

}  // namespace berth::cycle
