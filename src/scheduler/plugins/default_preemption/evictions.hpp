// Evicts the victims of a preemption: assumed pods within the scheduler, others through the API.
#pragma once

#include <boost/unordered_map.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "observability/metrics/registry.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/default_preemption/candidates.hpp"

namespace berth::plugins {

// Preemptions in progress. Asynchronous: each response of the API server advances a preemption by one step.
// With the feature gate SchedulerAsyncPreemption (default), the nominations of pods with lower priority are
// cleared first, then all victims but one are deleted in parallel, and the last one after them; if a step
// fails, the pod is retried immediately. Without the gate, all victims are deleted in parallel, and
// nominations are cleared afterwards. Without a running scheduler no pod is evicted. Scheduler loop only.
class Evictions {
 public:
  Evictions(std::string_view plugin, framework::Handle& handle);

  void CountAttempt();
  // Starts the preemption: `pod` fits on `node` if the victims are evicted.
  void Start(const api::PodPtr& pod, const std::string& node, const Candidate& candidate);
  // Whether PreEnqueue must gate pods whose victims are being deleted.
  bool gates() const { return asynchronous_; }
  // Whether the pod must be gated. Not after its last victim is deleted or terminating, because the event
  // that requeues the pod may arrive before the response to the request.
  bool IsPreempting(const std::string& uid) const;

 private:
  struct Preemption {
    api::PodPtr pod;
    std::string node;
    std::vector<api::PodPtr> victims;  // not yet terminating
    std::size_t open = 0;              // number of pending responses
    bool failed = false;               // a step failed, possibly only a nomination
    bool eviction_failed = false;      // an eviction failed
    bool retry_now = false;
  };
  using PreemptionPtr = std::shared_ptr<Preemption>;
  // The result of the eviction of one victim.
  struct Outcome {
    bool place_is_free = false;  // the resources are already free, and no deletion event will follow
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
  void Tell(const Preemption& preemption, const api::PodPtr& victim, bool in_memory);
  // Calls `done` on the loop's thread, whatever the thread of the response.
  ports::WriteDone OnLoop(std::move_only_function<void(Expected<void>)> done);

  const std::string plugin_;
  framework::Handle& handle_;
  const bool asynchronous_;
  // By UID of the preempting pod: null until the last victim is being evicted, then that victim.
  boost::unordered_map<std::string, api::PodPtr> in_progress_;
  metrics::Counter* attempts_ = nullptr;
  metrics::Histogram* victims_ = nullptr;
};

}  // namespace berth::plugins
