// The services of the scheduler that are available to its plugins.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "base/clock.hpp"
#include "config/feature_gates.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/cluster/volumes_in_use.hpp"
#include "scheduler/framework/attempt.hpp"
#include "scheduler/framework/cluster_event.hpp"
#include "scheduler/framework/cycle_state.hpp"
#include "scheduler/framework/preemption.hpp"
#include "scheduler/framework/verdicts.hpp"

namespace berth::metrics {
class Registry;
}

namespace berth::cluster {
class PodCounters;
}

namespace berth::framework {

// A pod whose placement waits for Permit plugins. Scheduler loop only.
class WaitingPod {
 public:
  virtual ~WaitingPod() = default;
  virtual const cluster::PodInfo& pod() const = 0;
  virtual const std::string& node() const = 0;
  // The plugins that have not yet allowed the pod.
  virtual std::vector<std::string> PendingPlugins() const = 0;
  // Records the plugin's approval. When the last pending plugin allows the pod, its binding continues. Names
  // of plugins that are not pending are ignored.
  virtual void Allow(std::string_view plugin) = 0;
  // Rejects the pod as Unschedulable. Returns false if the wait has already ended.
  virtual bool Reject(std::string_view plugin, std::string message) = 0;
  // Ends the wait because a pod of higher priority needs the node (kube-scheduler 1.36): an error, not a
  // rejection. Returns false if the wait has already ended.
  virtual bool Preempt(std::string_view plugin, std::string message) = 0;
};

// Queues work for the loop's thread. May be called from any thread, also after the scheduler has been
// destroyed (the work is then dropped).
using Poster = std::function<void(std::move_only_function<void()>)>;

// The running scheduler. All methods except Post belong to the loop's thread, on which plugins are called.
class SchedulerServices {
 public:
  virtual ~SchedulerServices() = default;
  // Runs `work` on the loop's thread as soon as possible. The way back to the loop for plugin code on other
  // threads.
  virtual void Post(std::move_only_function<void()> work) = 0;
  // Like Post, after `delay`.
  virtual void PostAfter(Duration delay, std::move_only_function<void()> work) = 0;
  // Runs `work` on a thread that may block, for PreBind and Bind plugins that perform I/O.
  virtual void RunBlocking(std::move_only_function<void()> work) = 0;
  // Post for callbacks that may outlive the scheduler.
  virtual Poster poster() const = 0;
  // Null if the pod does not wait for Permit.
  virtual WaitingPod* FindWaitingPod(std::string_view uid) = 0;
  virtual void ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) = 0;
  // Cancels the binding of a pod whose PreBind plugins are running (kube-scheduler 1.36). The binding fails
  // with `message` as soon as they have completed. Returns false if the pod is not in PreBind.
  virtual bool CancelPreBind(std::string_view uid, std::string message) = 0;
  // Pods that are nominated to the node and not bound to it, as last received from the API server.
  virtual std::vector<api::PodPtr> NominatedPods(std::string_view node) const = 0;
  // The last version received from the API server; null if the pod was deleted.
  virtual api::PodPtr FindPod(const api::ObjectMeta& pod) const = 0;
  // Publishes an event of a plugin's own. Pods that were rejected by plugins registered for it are retried,
  // as after any event.
  virtual void PublishEvent(const ClusterEvent& event, const EventObjects& objects) = 0;
  // Retries these waiting pods ("namespace/name") immediately, without an event or back-off.
  virtual void Activate(std::span<const std::string> pods) = 0;
};

// Created before the plugins and destroyed after them. `services` and `events` are set only while a scheduler
// runs. They are null while plugins are built, and always in `berth explain`, which has no waiting pods and
// emits no events.
struct Handle {
  cluster::SymbolTable& symbols;
  Reasons& reasons;
  ports::ApiWriter& api;
  cluster::NodeTable& nodes;  // for observers and counters; a decision reads the table of its Attempt
  cluster::ClusterObjects& objects;
  cluster::PodCounters& counters;
  cluster::VolumesInUse& volumes;
  config::FeatureGates gates = {};
  metrics::Registry* metrics = nullptr;  // null: no metrics are collected
  SchedulerServices* services = nullptr;
  ports::EventSink* events = nullptr;
  // Reviewers of preemption candidates, in the order in which they are called.
  std::vector<PreemptionReviewer*> preemption_reviewers = {};
  std::uint32_t next_state_slot = 0;
  std::map<std::type_index, std::shared_ptr<void>> shared = {};

  // The single T shared by the plugins of all profiles. Constructed from this handle on first use.
  template <class T>
  T& Shared() {
    std::shared_ptr<void>& slot = shared[typeid(T)];
    if (slot == nullptr) slot = std::make_shared<T>(*this);
    return *static_cast<T*>(slot.get());
  }
  template <class T>
  StateKey<T> NewKey() {
    return StateKey<T>(next_state_slot++);
  }
};

}  // namespace berth::framework
