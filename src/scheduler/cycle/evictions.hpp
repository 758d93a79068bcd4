// Evicts the victims of a preemption: assumed pods within the scheduler, others through the API.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/text_map.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/cycle/binding_cycle.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "scheduler/cycle/eviction_plan.hpp"
#include "scheduler/cycle/pod_directory.hpp"
#include "scheduler/queue/scheduling_queue.hpp"

namespace berth::cycle {

// Preemptions in progress (kube-scheduler v1.37.1, pkg/scheduler/framework/preemption/executor.go).
// Asynchronous: each response of the API server advances a preemption by one step. With the feature gate
// SchedulerAsyncPreemption (default), the nominations of pods with lower priority are cleared first, then all
// victims but one are deleted in parallel, and the last one after them; if a step fails, the pod is retried
// immediately. Without the gate, all victims are deleted in parallel, and nominations are cleared afterwards.
// Scheduler loop only.
class Evictions {
 public:
  struct Parts {
    ports::ApiWriter& api;
    ports::EventSink& events;
    ClusterLoop& loop;
    BindingCycles& bindings;
    queue::SchedulingQueue& queue;
    const PodDirectory& pods;
    const cluster::SymbolTable& symbols;
    const config::FeatureGates& gates;
    const Clock& clock;
    metrics::Registry& metrics;
  };
  explicit Evictions(const Parts& parts);

  // Starts the preemption: the preemptor fits when the victims are evicted.
  void Start(Preemptor preemptor, EvictionPlan plan);
  bool idle() const { return in_progress_.empty(); }
  // Whether victims of this pod or pod group are being evicted. Not after its last victim is deleted or
  // terminating, because the event that requeues the pod may arrive before the response to the request.
  bool IsPreempting(std::string_view uid) const;

 private:
  struct Preemption {
    Preemptor preemptor;
    std::string plugin;
    std::string place;
    MonoTime started;
    std::vector<api::PodPtr> victims;  // not yet terminating
    std::size_t open = 0;              // number of pending responses
    bool failed = false;               // a step failed, possibly only a nomination
    bool eviction_failed = false;      // an eviction failed
    bool retry_now = false;
  };
  using PreemptionPtr = std::shared_ptr<Preemption>;
  // The result of the eviction of one victim.
  struct Outcome {
    bool resources_free = false;  // the resources are already free, and no deletion event will follow
    Expected<void> result;
  };
  using Done = std::move_only_function<void(Outcome)>;
  using Next = std::move_only_function<void()>;

  void ClearNominations(const PreemptionPtr& preemption, Next next);
  void EvictAllButLast(const PreemptionPtr& preemption);
  void EvictLast(const PreemptionPtr& preemption);
  void EvictTogether(const PreemptionPtr& preemption);
  void Finish(const PreemptionPtr& preemption);
  // Evicts victims [0, count), then calls `next`.
  void Evict(const PreemptionPtr& preemption, std::size_t count, Next next);
  void EvictOne(const PreemptionPtr& preemption, const api::PodPtr& victim, Done done);
  void MarkAndDelete(const PreemptionPtr& preemption, const api::PodPtr& victim, Done done);
  void Delete(const PreemptionPtr& preemption, const api::PodPtr& victim, Done done);
  void EmitPreempted(const Preemption& preemption, const api::PodPtr& victim, bool in_memory);
  // Pods that are nominated to the node and not bound to it, as last received from the API server.
  std::vector<api::PodPtr> NominatedPods(std::string_view node) const;
  void CountPlan(const Preemptor& preemptor, const EvictionPlan& plan);
  // Calls `done` on the loop's thread, whatever the thread of the response.
  ports::WriteDone OnLoop(std::move_only_function<void(Expected<void>)> done);

  const Parts parts_;
  const bool asynchronous_;  // the feature gate SchedulerAsyncPreemption
  const bool with_groups_;   // the feature gate GenericWorkload
  metrics::Histogram& victims_;
  // By UID of the preemptor: null until the last victim is being evicted, then that victim.
  TextMap<api::PodPtr> in_progress_;
};

}  // namespace berth::cycle
