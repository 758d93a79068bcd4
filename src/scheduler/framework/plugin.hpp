// The contract between the scheduler and its plugins. Every scheduling rule of Berth is written against this
// header and nothing else of the engine; a rule that is naturally about one node at a time starts from
// scheduler/framework/one_node.hpp instead.
//
// A plugin is created once per profile, lives as long as it, and implements the interfaces of the extension
// points it takes part in. All calls are made by the scheduler loop, one at a time, unless it is said
// otherwise; none may wait for anything. An exception that leaves a plugin counts as Status::Error with its
// text. What a plugin answers for a node equals what the plugin of the same name in kube-scheduler v1.37.1
// answers for it.
//
// In the order of a pod's life:
//
//   PreEnqueue -> QueueSort -> PreFilter -> Filter -> (PostFilter if nothing fits)
//              -> PreScore -> Score, Normalize -> Reserve -> Permit
//              -> PreBindPreFlight -> PreBind -> Bind -> PostBind           (Unreserve if anything fails)
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
#include "base/random.hpp"
#include "base/row_set.hpp"
#include "scheduler/framework/attempt.hpp"
#include "scheduler/framework/cluster_event.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/framework/score_column.hpp"
#include "scheduler/framework/status.hpp"
#include "scheduler/framework/verdicts.hpp"

namespace berth::framework {

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view Name() const = 0;
  // Events after which a pod that this plugin rejected may fit, asked once. Only plugins at PreEnqueue,
  // PreFilter, Filter, Reserve and Permit are asked. One that does not say is tried again after every event;
  // an empty list means that no event helps.
  virtual std::vector<EventRegistration> EventsToRegister() const {
    return {{EventResource::kAny, kAllActions}};
  }
  // Does it take part at the extension point of this interface, which its class implements? For plugins that
  // are put together at run time.
  virtual bool TakesPartAs(const std::type_info& /*interface*/) const { return true; }
};

// The plugin at an extension point; null if it does not take part there.
template <class Interface>
Interface* As(Plugin* plugin) {
  return plugin->TakesPartAs(typeid(Interface)) ? dynamic_cast<Interface*>(plugin) : nullptr;
}

// Before a pod may enter activeQ. Anything but Success keeps it out until an event of EventsToRegister frees
// it; an Error is logged besides.
class PreEnqueuePlugin : public virtual Plugin {
 public:
  virtual Status PreEnqueue(const cluster::PodInfo& pod) const = 0;
};

// The order of activeQ. Exactly one per profile; all profiles must name the same.
class QueueSortPlugin : public virtual Plugin {
 public:
  virtual bool Less(const QueuedPod& a, const QueuedPod& b) const = 0;
};

// What a plugin's answer hangs on beside the pod's shape (scheduler/cluster/pod_info.hpp): whoever remembers answers
// asks again when that has changed.
enum class ResultDependency : std::uint8_t {
  kEverything,  // anything: the plugin is asked anew for each pod
  kRow,         // an answer about a row: its node and the pods on it
  kNodes,       // all nodes as they describe themselves, whatever pods are on them
};

struct PreFilterAnswer {
  Status status;
  // The only nodes that can be considered; they need not exist. Nothing: all nodes.
  std::optional<std::vector<cluster::NodeNameId>> nodes;
};
// Once per attempt, before Filter. Skip: this plugin's Filter is not asked. Unschedulable and
// UnschedulableAndUnresolvable reject the pod as a whole; of several the last Unschedulable counts, and an
// UnschedulableAndUnresolvable ends the asking. Any other status fails the attempt.
class PreFilterPlugin : public virtual Plugin {
 public:
  virtual PreFilterAnswer PreFilter(const Attempt& attempt) const = 0;
  // kNodes only where PreFilter notes nothing down for later: it may not be asked of each pod.
  virtual ResultDependency PreFilterDependency(const cluster::PodInfo& /*pod*/) const { return ResultDependency::kEverything; }
};

// For a plugin whose PreFilter notes down things about pods on *other* nodes: keeps the notes right while a
// pod is imagined to be on a row, or gone from it. A plugin that reads only the row it judges needs none of
// this: the table shows the imagined pods. Called on a copy of the attempt's memory. A status that is not
// Success fails the attempt.
class PreFilterExtensionsPlugin : public virtual PreFilterPlugin {
 public:
  virtual Status AddPod(const Attempt& attempt, const cluster::PlacedPod& added, cluster::Row row) const = 0;
  virtual Status RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed, cluster::Row row) const = 0;
};

// Which nodes will not do. Asked once for all nodes that are still candidates: for each reason the plugin
// says which rows that reason rejects. Rows outside `candidates` may be named too; they are ignored.
class FilterPlugin : public virtual Plugin {
 public:
  virtual void Filter(const Attempt& attempt, const RowSet& candidates, Rejections& out) const = 0;
  virtual ResultDependency FilterDependency(const cluster::PodInfo& /*pod*/) const { return ResultDependency::kEverything; }
};

// What PostFilter plugins may ask the scheduler while they look for a way.
class WhatIf {
 public:
  virtual ~WhatIf() = default;
  // Which of `candidates` pass the profile's filters as the table stands now, nominated pods counted in; what
  // PreFilter said to skip stays skipped. `attempt` may carry a memory of its own.
  virtual void RunFilters(const Attempt& attempt, const RowSet& candidates, FilterOutcome& out) = 0;
  // Tells the plugins with extensions.
  virtual Status AddPod(const Attempt& attempt, const cluster::PlacedPod& added, cluster::Row row) = 0;
  virtual Status RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed, cluster::Row row) = 0;
  // Does a plugin with extensions take part in this attempt? If none does, the verdict on a row hangs on that
  // row alone, and many rows can be imagined otherwise at the same time.
  virtual bool has_extensions() const = 0;
  // The table of the attempt, for overlays.
  virtual cluster::NodeTable& table() = 0;
  // Where the scheduler draws lots. Null if it does not: then all nodes are looked at, and of equals the
  // first by name is taken.
  virtual Random* chance() = 0;
};

// How room is made on the node that a pod is nominated to.
struct Eviction {
  std::vector<std::string> victims;  // "namespace/name", sorted
  RowSet choices;                    // nodes that would have done as well, the chosen one included
};

struct PostFilterAnswer {
  Status status;
  // The node the pod shall be nominated to from now on; empty text: none. Nothing: as before.
  std::optional<std::string> nominate;
  std::optional<Eviction> eviction = {};  // for the record
};
// When no node fits. Success, UnschedulableAndUnresolvable and Error end the asking; after Unschedulable the
// next plugin is asked. The pod is not placed in this attempt whatever is answered.
class PostFilterPlugin : public virtual Plugin {
 public:
  // `verdicts` holds the filters' answer, or nothing but `unresolvable` (all rows or none) where PreFilter
  // rejected the pod. Rows without verdict were ruled out by PreFilter and are in `unresolvable` too.
  virtual PostFilterAnswer PostFilter(const Attempt& attempt, const FilterOutcome& verdicts,
                                      WhatIf& what_if) = 0;
};

// Once per attempt with two or more feasible nodes. Skip: this plugin's Score is not asked and it has no part
// in the total. Anything else but Success fails the attempt.
class PreScorePlugin : public virtual Plugin {
 public:
  virtual Status PreScore(const Attempt& attempt, const RowSet& feasible) const = 0;
  // As PreFilterDependency; kNodes also says that it does not matter which nodes are feasible.
  virtual ResultDependency PreScoreDependency(const cluster::PodInfo& /*pod*/) const { return ResultDependency::kEverything; }
};

// How raw scores are brought between 0 and kMaxScore.
enum class Normalization : std::uint8_t {
  kOwn,                // by the plugin's own Normalize
  kNone,               // they are there already
  kByMaximum,          // NormalizeByMaximum
  kByMaximumReversed,  // NormalizeByMaximum, reversed
};

// How good the feasible nodes are. After Normalize every score must be within 0 and kMaxScore.
class ScorePlugin : public virtual Plugin {
 public:
  virtual Status Score(const Attempt& attempt, const RowSet& feasible, ScoreColumn& scores) const = 0;
  virtual ResultDependency ScoreDependency(const cluster::PodInfo& /*pod*/) const { return ResultDependency::kEverything; }
  virtual Normalization Normalizes() const { return Normalization::kOwn; }
  // Brings raw scores, which Score may leave in any range, between 0 and kMaxScore: in the way that
  // Normalizes names. One of its own, if a class has it, leaves Normalizes alone.
  virtual Status Normalize(const Attempt&, const RowSet& feasible, ScoreColumn& scores) const;
};

// Takes what the pod needs besides its place, and gives it back.
class ReservePlugin : public virtual Plugin {
 public:
  // Right after the decision. A rejection or an error ends the attempt.
  virtual Status Reserve(const Placement& placement) = 0;
  // Whenever the placement fails later, in reverse order of the profile; also if this plugin's Reserve was
  // not called or failed. Must not fail.
  virtual void Unreserve(const Placement& placement) = 0;
};

struct PermitAnswer {
  Status status;
  Duration timeout{};  // with Wait: then the pod is rejected; at most 15 minutes
};
// May the pod go to its node? Success, a rejection, or Wait: then it goes when every plugin that said Wait
// has allowed it (SchedulerServices::FindWaitingPod), and is rejected when one rejects it or runs out of
// time.
class PermitPlugin : public virtual Plugin {
 public:
  virtual PermitAnswer Permit(const Placement& placement) = 0;
};

// The answer of something that takes its time. Called once, from any thread; an answer that comes after the
// deadline is ignored. The placement stays valid until this object is gone.
using Answer = std::move_only_function<void(Status)>;

// Work that must be done before the pod is bound: attach, create, wait. Runs beside the scheduler loop's
// work.
class PreBindPlugin : public virtual Plugin {
 public:
  struct PreFlight {
    Status status;                // Success: PreBind has work to do; Skip: it has none
    bool allow_parallel = false;  // with neighbours that allow it too (1.36)
  };
  // Quick, on the loop. Any other status but Success and Skip fails the binding.
  virtual PreFlight PreBindPreFlight(const Placement& placement) = 0;
  // Returns at once. `stop` asks to give up early: a more important pod needs the place. Anything but Success
  // fails the binding.
  virtual void PreBind(const Placement& placement, std::stop_token stop, Answer answer) = 0;
};

// Binds a pod to its node. Returns at once. Skip: the next plugin is asked; the first other answer counts.
class BindPlugin : public virtual Plugin {
 public:
  virtual void Bind(const Placement& placement, Answer answer) = 0;
};

// The pod is bound. For information.
class PostBindPlugin : public virtual Plugin {
 public:
  virtual void PostBind(const Placement& placement) = 0;
};

// Kubernetes' usual normalisation: the best raw score becomes 100, the others keep their proportion (integer
// division); reversed, the best is the lowest. If no raw score is above 0 all become 100 when reversed, else
// they stay.
void NormalizeByMaximum(const RowSet& feasible, bool reverse, ScoreColumn& scores);

}  // namespace berth::framework
