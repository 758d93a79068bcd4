// The services of the scheduler that are available to its plugins.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "base/check.hpp"
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
class PendingPods;
class PodCounters;
class PodGroups;
}  // namespace berth::cluster

namespace berth::devices {
class ClusterDevices;
}

namespace berth::load_metrics {
class SignalTable;
}

namespace berth::framework {

// A pod whose placement waits for Permit plugins. Scheduler loop only.
class WaitingPod {
 public:
  virtual ~WaitingPod() = default;
  // The pod, and the node selected for it.
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

// The thread on which plugins are called: the scheduler loop.
class LoopExecutor {
 public:
  virtual ~LoopExecutor() = default;
  // Runs `work` on the loop's thread as soon as possible. May be called from any thread: the way back to the
  // loop for plugin code on other threads.
  virtual void Post(std::move_only_function<void()> work) = 0;
  // Like Post, after `delay`. Returns the time at which the work is due. Loop's thread only.
  virtual MonoTime PostAfter(Duration delay, std::move_only_function<void()> work) = 0;
  // Like Post, at a time that an earlier PostAfter returned: for state that is restored. Loop's thread only.
  virtual void PostAt(MonoTime due, std::move_only_function<void()> work) = 0;
  // For durations: the time of day may be set forward and back. Loop's thread only.
  virtual MonoTime Now() const = 0;
  // The time of day, for comparison with time stamps of objects. Loop's thread only.
  virtual WallTime WallNow() const = 0;
  // Post for callbacks that may outlive the loop.
  virtual Poster poster() const = 0;
};

// The pods and the queue of the scheduler that runs the plugins. Scheduler loop only.
class SchedulerServices {
 public:
  virtual ~SchedulerServices() = default;
  // Runs `work` on a thread that may block, for PreBind and Bind plugins that perform I/O.
  virtual void RunBlocking(std::move_only_function<void()> work) = 0;
  // Null if the pod does not wait for Permit.
  virtual WaitingPod* FindWaitingPod(std::string_view uid) = 0;
  virtual void ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) = 0;
  // The last version received from the API server; null if the pod was deleted.
  virtual api::PodPtr FindPod(const api::ObjectMeta& pod) const = 0;
  // Whether the victims of a preemption by this pod are being evicted. False after the deletion of the last
  // victim has been received.
  virtual bool IsPreempting(std::string_view uid) const = 0;
  // Publishes an event of a plugin's own. Pods that were rejected by plugins registered for it are retried,
  // as after any event.
  virtual void PublishEvent(const ClusterEvent& event, const EventObjects& objects) = 0;
  // Retries these waiting pods ("namespace/name") immediately, without an event or back-off.
  virtual void Activate(std::span<const std::string> pods) = 0;
  // The same for the members of a group, or of a tree of composite groups (a key of cluster::PodGroups), that
  // are neither assumed nor assigned.
  virtual void ActivateMembers(const std::string& group) = 0;
};

// The slots of buffers below are those of the framework (framework/nominations.hpp).
inline constexpr std::uint32_t kFirstPluginBuffer = 1;

// What a plugin is built with. Created before the plugins and destroyed after them.
struct Handle {
  cluster::SymbolTable& symbols;
  Reasons& reasons;
  cluster::NodeTable& nodes;  // for observers and counters; a decision reads the table of its Attempt
  cluster::ClusterObjects& objects;
  cluster::PodCounters& counters;
  cluster::VolumesInUse& volumes;
  devices::ClusterDevices& devices;
  cluster::PodGroups& groups;
  cluster::PendingPods& pending;       // for observers
  load_metrics::SignalTable& signals;  // measurements, shared by the plugins of all profiles
  // The ports of a dry run (framework/dry_run.hpp) have no effects.
  ports::ApiWriter& api;
  ports::EventSink& events;
  LoopExecutor& loop;
  SchedulerServices& scheduler;
  config::FeatureGates gates = {};
  metrics::Registry* metrics = nullptr;  // null: no metrics are collected
  // Reviewers of preemption candidates, in the order in which they are called.
  std::vector<PreemptionReviewer*> preemption_reviewers = {};
  // Annotations of pods that the plugins read: a plugin adds its keys in its constructor, and decoders retain
  // only these and those of in-tree plugins.
  std::vector<std::string> annotations = {};
  // Resources of other projects that the plugins read: "podgroups.scheduling.x-k8s.io".
  std::vector<std::string> requested_resources = {};
  // The names of profiles. Records refer to them, also when the profile is gone.
  std::set<std::string, std::less<>> profile_names = {};
  std::map<std::pair<std::string, std::string>, std::weak_ptr<void>> kept = {};
  std::uint32_t next_state_slot = 0;
  std::uint32_t next_buffer_slot = kFirstPluginBuffer;
  std::uint32_t next_state_mark = 0;
  const StateMark least_waste = NewMark();  // set by PreFilter: devices::DeviceOrder::kLeastWaste is used

  template <class T>
  StateKey<T> NewKey() {
    return StateKey<T>(next_state_slot++);
  }
  // A mark that no other plugin has; at most 64 per engine.
  StateMark NewMark() {
    BERTH_CHECK(next_state_mark < 64, next_state_mark);
    return StateMark{std::uint64_t{1} << next_state_mark++};
  }
  template <class T>
  BufferKey<T> NewBuffer() {
    return BufferKey<T>(next_buffer_slot++);
  }
  // State that a reload keeps, for a plugin's constructor: the object of this type and name that an earlier
  // instance still holds, else a new one. That instance may use it until its binding cycles have ended.
  template <class T>
  std::shared_ptr<T> Keep(const std::string& name) {
    std::erase_if(kept, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<void>& known = kept[{typeid(T).name(), name}];
    if (auto earlier = std::static_pointer_cast<T>(known.lock())) return earlier;
    auto created = std::make_shared<T>();
    known = created;
    return created;
  }
};

}  // namespace berth::framework
