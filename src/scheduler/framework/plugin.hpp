// The contract between the scheduler and its plugins. Every scheduling rule of Berth is written against this
// header and depends on no other part of the engine. For rules that evaluate one node at a time,
// scheduler/framework/one_node.hpp has adapters with per-node signatures.
//
// Lifetime: a plugin is created once per profile and lives as long as the profile. It implements the
// interfaces of the extension points at which it takes part.
// Threads: unless stated otherwise, all methods are called on the scheduler loop's thread, one at a time.
// They must not block.
// Errors: an exception that leaves a plugin counts as Status::Error with the exception's text.
// Fidelity: a plugin with a name of kube-scheduler v1.37.1 returns the same result for every node.
//
// Extension points, in the order in which a pod passes them:
//
//   PreEnqueue -> QueueSort -> PreFilter -> Filter -> (PostFilter if no node fits)
//              -> PreScore -> Score, Normalize -> Reserve -> Permit
//              -> PreBindPreFlight -> PreBind -> Bind -> PostBind           (Unreserve if a step fails)
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "base/clock.hpp"
#include "base/row_set.hpp"
#include "scheduler/framework/attempt.hpp"
#include "scheduler/framework/cluster_event.hpp"
#include "scheduler/framework/score_column.hpp"
#include "scheduler/framework/status.hpp"
#include "scheduler/framework/verdicts.hpp"

namespace berth {
class Random;
}

namespace berth::framework {

class EvictionProtections;  // scheduler/framework/eviction_protection.hpp
struct FilterOutcome;       // scheduler/framework/filter_outcome.hpp
struct Handle;              // scheduler/framework/handle.hpp: the argument of a plugin's constructor
struct QueuedEntity;        // scheduler/framework/queued_pod.hpp

// What all plugins have in common.
class Plugin {
 public:
  virtual ~Plugin() = default;
  // As in configuration, metrics and records. Valid until the process ends: records outlive plugins.
  virtual std::string_view Name() const = 0;
  // Events after which a pod that this plugin rejected may become schedulable. Called once, when the profile
  // is built, and only for plugins at PreEnqueue, PreFilter, Filter, Reserve and Permit. The default retries
  // the pod after every event; an empty list means that no event helps.
  virtual std::vector<EventRegistration> EventsToRegister() const {
    return {{EventResource::kAny, kAllActions}};
  }
  // Whether the plugin takes part at the extension point of this interface, which its class implements. For
  // plugins whose extension points are known only at run time, such as plugins from shared objects.
  virtual bool IsEnabledAt(const std::type_info& /*interface*/) const { return true; }
  // Whether all that the plugin stores between two decisions follows from the objects of the cluster, so that
  // a recording can start with a snapshot of them. Other state can be saved: framework/saved_state.hpp.
  virtual bool StateIsDerived() const { return false; }
};

// The plugin as an implementation of `Interface`; null if it does not take part at that extension point.
template <class Interface>
Interface* As(Plugin* plugin) {
  return plugin->IsEnabledAt(typeid(Interface)) ? dynamic_cast<Interface*>(plugin) : nullptr;
}

// Called before a pod enters activeQ. Any status other than Success keeps the pod out until an event of
// EventsToRegister releases it; an Error is also logged.
class PreEnqueuePlugin : public virtual Plugin {
 public:
  virtual Status PreEnqueue(const cluster::PodInfo& pod) const = 0;
};

// The order of activeQ, of pods and pod groups. Every profile has exactly one, and all must use the same.
class QueueSortPlugin : public virtual Plugin {
 public:
  virtual bool Less(const QueuedEntity& a, const QueuedEntity& b) const = 0;
};

// What a plugin's result depends on besides the pod's shape (scheduler/cluster/pod_info.hpp). The equivalence
// cache evaluates a plugin again when one of these inputs has changed.
enum class ResultDependency : std::uint8_t {
  kEverything,  // unknown inputs: the plugin is evaluated for every pod
  kRow,         // a row's result depends on its node and the shapes of the pods on it (cluster::SameShape)
  kNodes,       // the results depend on all node objects, not on the pods on them
};

// Any status, and optionally a limit of the nodes.
struct PreFilterResult {
  Status status;
  // Names of the only nodes to consider; they need not exist. nullopt: all nodes.
  std::optional<std::vector<cluster::NodeNameId>> nodes;
};
// Called once per attempt, before Filter. Skip: this plugin's Filter is not called. Unschedulable and
// UnschedulableAndUnresolvable reject the pod as a whole: after Unschedulable the next plugin is called, and
// the last Unschedulable counts; UnschedulableAndUnresolvable ends PreFilter. Any other status fails the
// attempt.
class PreFilterPlugin : public virtual Plugin {
 public:
  virtual PreFilterResult PreFilter(const Attempt& attempt) const = 0;
  // kNodes is allowed only if PreFilter writes nothing to the cycle state: it is not called for every pod.
  virtual ResultDependency PreFilterDependency(const cluster::PodInfo& /*pod*/) const {
    return ResultDependency::kEverything;
  }
};

// For plugins whose PreFilter stores data about pods on *other* nodes: updates this data when a dry run adds
// a pod to a row or removes one. Plugins that read only the row under evaluation do not need it, because the
// node table contains the pods of the dry run. Called with a copy of the attempt's cycle state. A status
// other than Success fails the attempt.
class PreFilterExtensionsPlugin : public virtual PreFilterPlugin {
 public:
  virtual Status AddPod(const Attempt& attempt, const cluster::PlacedPod& added, cluster::Row row) const = 0;
  virtual Status RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed,
                           cluster::Row row) const = 0;
};

// Rejects nodes. Called once for all rows that are still candidates; for each reason, the plugin adds the set
// of rows that it rejects to `out`. Rows outside `candidates` are ignored.
class FilterPlugin : public virtual Plugin {
 public:
  virtual void Filter(const Attempt& attempt, const RowSet& candidates, Rejections& out) const = 0;
  virtual ResultDependency FilterDependency(const cluster::PodInfo& /*pod*/) const {
    return ResultDependency::kEverything;
  }
};

// Operations that PostFilter plugins use to test changes of the cluster.
class PostFilterServices {
 public:
  virtual ~PostFilterServices() = default;
  // Runs the profile's filters for `candidates` against the current state of the table, nominated pods
  // included, and stores the result in `out`. Plugins that returned Skip at PreFilter are not called.
  // `attempt` may carry a cycle state of its own (Attempt::With).
  virtual void RunFilters(const Attempt& attempt, const RowSet& candidates, FilterOutcome& out) = 0;
  // Calls AddPod or RemovePod of every plugin with PreFilter extensions. Returns the first other status than
  // Success.
  virtual Status AddPod(const Attempt& attempt, const cluster::PlacedPod& added, cluster::Row row) = 0;
  virtual Status RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed, cluster::Row row) = 0;
  // Whether a plugin with PreFilter extensions takes part in this attempt. If none does, the result for a row
  // depends on that row alone, and dry runs of many rows can be combined.
  virtual bool has_extensions() const = 0;
  // The table of the attempt, for overlays (NodeTable::Overlay).
  virtual cluster::NodeTable& table() = 0;
  // The random number generator that selects the first node of the dry run. Null: deterministic; all nodes
  // are evaluated, and of equal candidates the first by name is selected.
  virtual Random* rng() = 0;
  virtual EvictionProtections& protections() = 0;  // of the profile
};

// How preemption makes room on the nominated node.
struct Eviction {
  std::vector<api::PodPtr> victims;  // never empty; the scheduler evicts the last one after all others
  std::int64_t violations = 0;       // victims whose eviction violates a PodDisruptionBudget
  RowSet choices;                    // nodes that would have been equally good, the selected one included
};

// Whether the pod can fit after evictions, and where.
struct PostFilterResult {
  Status status;
  // The node to nominate the pod to; empty: clear the nomination; nullopt: leave it unchanged.
  std::optional<std::string> nominate;
  // The pods that the scheduler evicts so that the pod fits on the nominated node, unless it is a dry run.
  std::optional<Eviction> eviction = {};
  std::vector<std::pair<std::string, std::size_t>> refusals = {};  // why not others: nodes by reason
};
// Called when no node fits. Success, UnschedulableAndUnresolvable and Error end PostFilter; after
// Unschedulable the next plugin is called. The pod is not placed in this attempt, whatever the status.
class PostFilterPlugin : public virtual Plugin {
 public:
  // `verdicts` is the result of the filters. If PreFilter rejected the pod, only `verdicts.unresolvable` is
  // set: to all rows or to none. Rows that PreFilter excluded have no verdict and are in `unresolvable`.
  virtual PostFilterResult PostFilter(const Attempt& attempt, const FilterOutcome& verdicts,
                                      PostFilterServices& services) = 0;
};

// Called once per attempt with two or more feasible nodes. Skip: this plugin's Score is not called and does
// not contribute to the total. Any other status but Success fails the attempt.
class PreScorePlugin : public virtual Plugin {
 public:
  virtual Status PreScore(const Attempt& attempt, const RowSet& feasible) const = 0;
  // As PreFilterDependency. kNodes also means that the result does not depend on which nodes are feasible.
  virtual ResultDependency PreScoreDependency(const cluster::PodInfo& /*pod*/) const {
    return ResultDependency::kEverything;
  }
};

// How raw scores are mapped to the range from 0 to kMaxScore.
enum class Normalization : std::uint8_t {
  kOwn,                // the plugin overrides Normalize
  kNone,               // raw scores are already in this range
  kByMaximum,          // NormalizeByMaximum
  kByMaximumReversed,  // NormalizeByMaximum, reversed
};

// Scores the feasible nodes; higher is better. A final score outside of 0 to kMaxScore fails the attempt.
class ScorePlugin : public virtual Plugin {
 public:
  // Stores the score of every feasible row. A status other than Success fails the attempt.
  virtual Status Score(const Attempt& attempt, const RowSet& feasible, ScoreColumn& scores) const = 0;
  // What the raw scores depend on.
  virtual ResultDependency ScoreDependency(const cluster::PodInfo& /*pod*/) const {
    return ResultDependency::kEverything;
  }
  // Applied by the default of Normalize.
  virtual Normalization normalization() const { return Normalization::kOwn; }
  // Maps raw scores, which may have any range, to 0..kMaxScore. The default does what normalization()
  // returns; a plugin that overrides Normalize does not override normalization.
  virtual Status Normalize(const Attempt&, const RowSet& feasible, ScoreColumn& scores) const;
};

// Reserves resources for a placement, such as volumes or devices, and releases them.
class ReservePlugin : public virtual Plugin {
 public:
  // Called immediately after a node has been selected. Any status other than Success ends the attempt.
  virtual Status Reserve(const Placement& placement) = 0;
  // Called when the placement fails later, in the reverse order of the profile, also if this plugin's Reserve
  // was not called or failed. Must not fail, and must be idempotent.
  virtual void Unreserve(const Placement& placement) = 0;
};

// Wait delays the binding.
struct PermitResult {
  Status status;
  Duration timeout{};  // with Wait: the pod is rejected after this time; at most 15 minutes
};
// Approves, rejects or delays the binding of a pod. After Wait, the pod is bound when all plugins that
// returned Wait allow it (SchedulerServices::FindWaitingPod), and rejected by one of them or its timeout.
class PermitPlugin : public virtual Plugin {
 public:
  virtual PermitResult Permit(const Placement& placement) = 0;
};

// Completion callback of an asynchronous call. Must be called once, from any thread; a status that arrives
// after the deadline is ignored. The Placement stays valid until this object is destroyed.
using StatusCallback = std::move_only_function<void(Status)>;

// Asynchronous work that must be complete before the pod is bound, such as provisioning or attaching a
// volume. Runs concurrently with the scheduler loop.
class PreBindPlugin : public virtual Plugin {
 public:
  struct PreFlight {
    Status status;                // Success: PreBind has work to do; Skip: it has none
    bool allow_parallel = false;  // may run in parallel with adjacent plugins that allow it too (1.36)
  };
  // Called on the loop's thread; must return quickly. Statuses other than Success and Skip fail the binding.
  virtual PreFlight PreBindPreFlight(const Placement& placement) = 0;
  // Starts the work and returns immediately. `stop` requests cancellation, because a pod of higher priority
  // needs the node. Any status other than Success fails the binding.
  virtual void PreBind(const Placement& placement, std::stop_token stop, StatusCallback answer) = 0;
  // A result that takes longer counts as an error. Plugins with a time limit of their own return more.
  virtual Duration LongestPreBind() const { return std::chrono::minutes(15); }
};

// Binds a pod to its node; returns immediately. After Skip the next plugin is called.
class BindPlugin : public virtual Plugin {
 public:
  virtual void Bind(const Placement& placement, StatusCallback answer) = 0;
};

// Called after the pod is bound; informational.
class PostBindPlugin : public virtual Plugin {
 public:
  virtual void PostBind(const Placement& placement) = 0;
};

// Kubernetes' default normalization: scales to 100 * score / maximum (integer division); reversed, to 100
// minus that. If the maximum is 0, all scores become 100 when reversed and stay unchanged otherwise.
void NormalizeByMaximum(const RowSet& feasible, bool reverse, ScoreColumn& scores);

}  // namespace berth::framework
