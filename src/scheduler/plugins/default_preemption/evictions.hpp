// Drives the victims of a preemption out: from their place in the scheduler's memory, or by the API.
#pragma once

#include <boost/unordered_map.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/handle.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/plugins/default_preemption/candidates.hpp"

namespace berth::plugins {

// Preemptions under way. Nothing here waits: each answer of the API server takes a preemption one step
// further. With the gate SchedulerAsyncPreemption (the default) pods of lower priority lose their nomination
// to the node first, then all victims but one are deleted at the same time, and the last one after them; if
// anything goes wrong the pod is tried again at once. Without the gate the victims go all at the same time
// and the nominations after them. Without a running scheduler nobody is driven out. One thread: the scheduler
// loop's.
class Evictions {
 public:
  Evictions(std::string_view plugin, framework::Handle& handle);

  void CountAttempt();
  // `pod` has found a place on `node` if the victims leave it.
  void Start(const api::PodPtr& pod, const std::string& node, const Candidate& candidate);
  // Does PreEnqueue have to hold back pods whose victims are being deleted?
  bool gates() const { return asynchronous_; }
  // Is the pod to be held back? Once its last victim is gone or terminating it is not: the event that brings
  // it back may come before the answer to our request.
  bool UnderWayFor(const std::string& uid) const;

 private:
  struct Preemption {
    api::PodPtr pod;
    std::string node;
    std::vector<api::PodPtr> victims;  // that are not terminating yet
    std::size_t open = 0;              // answers we wait for
    bool failed = false;               // something went wrong, be it only with a nomination
    bool victim_stays = false;         // an eviction went wrong
    bool try_at_once = false;
  };
  using PreemptionPtr = std::shared_ptr<Preemption>;
  // How the attempt on one victim ended.
  struct Outcome {
    bool place_is_free = false;  // already, and without a deletion that an event would tell of
    Expected<void> result;
  };
  using Done = std::move_only_function<void(Outcome)>;
  using Next = std::move_only_function<void()>;

  void ClearNominations(const PreemptionPtr& preemption, Next next);
  void EvictAllButLast(const PreemptionPtr& preemption);
  void EvictLast(const PreemptionPtr& preemption);
  void EvictTogether(const PreemptionPtr& preemption);
  void Finish(const PreemptionPtr& preemption);
  // Evicts victims [0, count), then goes on.
  void Evict(const PreemptionPtr& preemption, std::size_t count, Next next);
  void EvictOne(const PreemptionPtr& preemption, const api::PodPtr& victim, Done done);
  void MarkAndDelete(const PreemptionPtr& preemption, const api::PodPtr& victim, Done done);
  void Delete(const PreemptionPtr& preemption, const api::PodPtr& victim, Done done);
  void Tell(const Preemption& preemption, const api::PodPtr& victim, bool in_memory);
  // `done` on the loop's thread, whatever thread the answer comes on.
  ports::WriteDone OnLoop(std::move_only_function<void(Expected<void>)> done);

  const std::string plugin_;
  framework::Handle& handle_;
  const bool asynchronous_;
  // By UID of the pod that preempts: the last victim once it is its turn, until then null.
  boost::unordered_map<std::string, api::PodPtr> under_way_;
  metrics::Counter* attempts_ = nullptr;
  metrics::Histogram* victims_ = nullptr;
};

}  // namespace berth::plugins
