// What a plugin may use of the scheduler it is built into.
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
#include "scheduler/framework/attempt.hpp"
#include "scheduler/framework/cluster_event.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/framework/cycle_state.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/framework/preemption.hpp"
#include "scheduler/framework/verdicts.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/cluster/volumes_in_use.hpp"

namespace berth::metrics {
class Registry;
}

namespace berth::cluster {
class PodCounters;
}

namespace berth::framework {


// A pod whose placement waits for Permit plugins.
class WaitingPod {
 public:
  virtual ~WaitingPod() = default;
  virtual const cluster::PodInfo& pod() const = 0;
  virtual const std::string& node() const = 0;
  // The plugins that have not allowed it yet.
  virtual std::vector<std::string> PendingPlugins() const = 0;
  // The last plugin to allow it sends it on its way. Unknown plugins are ignored.
  virtual void Allow(std::string_view plugin) = 0;
  // Ends its waiting as Unschedulable. False if its fate was sealed before.
  virtual bool Reject(std::string_view plugin, std::string message) = 0;
  // Ends its waiting because its place is needed (kube-scheduler 1.36): an error, not a rejection.
  virtual bool Preempt(std::string_view plugin, std::string message) = 0;
};

// Has work done on the loop's thread, soon. Safe from any thread, even after the scheduler is gone.
using Poster = std::function<void(std::move_only_function<void()>)>;

// The running scheduler. Methods belong to its loop's thread, on which plugins are called anyway, except
// Post.
class SchedulerServices {
 public:
  virtual ~SchedulerServices() = default;
  // Runs `work` on the loop's thread, soon. The way back for code of plugins that lives on other threads.
  virtual void Post(std::move_only_function<void()> work) = 0;
  // The same, after a while.
  virtual void PostAfter(Duration delay, std::move_only_function<void()> work) = 0;
  // Runs `work` on a thread that may block: for PreBind and Bind plugins that talk to somebody.
  virtual void RunBlocking(std::move_only_function<void()> work) = 0;
  // Post for callbacks that may outlive the scheduler.
  virtual Poster poster() const = 0;
  // Null if the pod does not wait for Permit.
  virtual WaitingPod* FindWaitingPod(std::string_view uid) = 0;
  virtual void ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) = 0;
  // Stops the binding of a pod whose PreBind plugins are at work (kube-scheduler 1.36): it fails with
  // `message` as soon as they have answered. False if the pod is not in PreBind (any more).
  virtual bool CancelPreBind(std::string_view uid, std::string message) = 0;
  // Pods that were promised the node and are not there, as last seen.
  virtual std::vector<api::PodPtr> NominatedPods(std::string_view node) const = 0;
  // As the API server last showed it; null if it is gone.
  virtual api::PodPtr FindPod(const api::ObjectMeta& pod) const = 0;
  // Something of a plugin's own has happened that frees pods: those whose plugins registered for it are tried
  // again as after any event.
  virtual void PublishEvent(const ClusterEvent& event, const EventObjects& objects) = 0;
  // Tries these waiting pods ("namespace/name") at once, without event or back-off.
  virtual void Activate(std::span<const std::string> pods) = 0;
};

// Outlives the plugins. `services` and `events` are there while a scheduler runs: not while plugins are being
// built, and not in `berth explain`, where there are no waiting pods and nobody is told anything.
struct Handle {
  cluster::SymbolTable& symbols;
  Reasons& reasons;
  ports::ApiWriter& api;
  cluster::NodeTable& nodes;  // for observers and counters; what a decision looks at is in its Attempt
  cluster::ClusterObjects& objects;
  cluster::PodCounters& counters;
  cluster::VolumesInUse& volumes;
  config::FeatureGates gates = {};
  metrics::Registry* metrics = nullptr;  // null: nobody measures
  SchedulerServices* services = nullptr;
  ports::EventSink* events = nullptr;
  // Who has a say in preemption, in the order in which they are asked.
  std::vector<PreemptionReviewer*> preemption_reviewers = {};
  std::uint32_t next_state_slot = 0;
  std::map<std::type_index, std::shared_ptr<void>> shared = {};

  // What the plugins of all profiles share: the one T, built from this handle when it is asked for first.
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
