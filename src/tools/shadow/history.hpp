// The recent changes of the cluster. Can show the cluster at an earlier moment, or as if some changes had
// come earlier or later.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/assembly/engine.hpp"

namespace berth::shadow {

// The position of a pod in kube-scheduler's queue: by priority, then by arrival.
struct QueuePosition {
  std::int32_t priority = 0;
  std::uint64_t arrival = 0;
  bool Before(const QueuePosition& other) const {
    return priority != other.priority ? priority > other.priority : arrival < other.arrival;
  }
};

struct Step {
  MonoTime at;
  ports::ClusterChange change;
  std::string uid = {};  // of a pod
  // UID of the pod for which the change allocates this claim, or for whose extended resources the claim is.
  std::string claim_of = {};
  // The other scheduler decided about a pending pod: allocated a claim for it, bound it or failed, perhaps
  // with a nomination.
  bool decision = false;
  std::string node = {};  // the pod's node or nominated node
  QueuePosition queue_position = {};
  // a pending pod of Berth's profiles that is nominated from this step on
  std::shared_ptr<const cluster::PodInfo> nominated = {};
  // From this step on the other scheduler has assumed the pod on this version's node, and writes its claims
  // or volumes before it binds the pod. Null: the pod is not assumed, or bound.
  api::PodPtr assumed = {};
  // The assumed version that was in the cache when the step was applied. Set by History.
  api::PodPtr replaced = {};
  // The change of the cache when the step was applied, unless it is the change of a pod: its version before
  // may be another one than that of `change`. Set by History.
  ports::ClusterChange applied = {};
  std::string Text() const;
};

// The pods with nominated nodes. One thread.
class Nominations {
 public:
  void Take(const Step& step);
  std::vector<runtime::Nomination> All(const cluster::NodeTable& nodes) const;

 private:
  TextMap<std::shared_ptr<const cluster::PodInfo>> by_uid_;
};

// Steps are numbered from the beginning; only the latest are kept. One thread: the loop that owns the engine.
// Except between Show and Restore the cache has the state that the watches delivered, and the pods that the
// other scheduler has assumed.
class History {
 public:
  History(assembly::Engine& engine, std::size_t steps, Duration age)
      : engine_(engine), max_steps_(steps), max_age_(age) {}

  // Records the next change. The caller applies it to the cache directly afterwards.
  void Note(Step step);
  // The node in the state that the cache has. Null: there is none with this name.
  api::NodePtr FindNode(std::string_view name) const;
  // The version of the pod with the node on which it is assumed. Null: it is not assumed, or it is bound.
  api::PodPtr FindAssumed(const std::string& uid) const;
  // As long as it lives, the cache does not have this pod if it is assumed. No change and no Show meanwhile.
  class WithoutAssumed {
   public:
    WithoutAssumed(History& history, const std::string& uid);
    ~WithoutAssumed();
    WithoutAssumed(const WithoutAssumed&) = delete;
    WithoutAssumed& operator=(const WithoutAssumed&) = delete;

   private:
    cluster::ClusterState& cache_;
    const api::PodPtr assumed_;
  };
  // Drops all steps, after the initial lists.
  void Clear();
  std::uint64_t begin() const { return first_; }
  std::uint64_t end() const { return first_ + steps_.size(); }
  const Step& operator[](std::uint64_t position) const { return steps_[position - first_]; }
  std::vector<runtime::Nomination> nominations() const { return nominations_.All(engine_.cache().nodes()); }

  // Sets the cache to the state in which of the steps [from, end()) only those marked in `happened` have been
  // applied, in their order. A change of an object that does not exist in this state has no effect, except
  // for an allocation of a claim: the other scheduler has assumed it before it creates the claim.
  void Show(std::uint64_t from, const std::vector<bool>& happened);
  // Restores the current state.
  void Restore();

 private:
  // Returns whether the step changed the cache.
  bool Do(Step& step);
  void Undo(const Step& step);
  // Adds the assumed pod to the cache; null: the pod is not assumed any more.
  void Keep(const std::string& uid, const api::PodPtr& assumed);
  bool Move(const api::PodPtr& from, const api::PodPtr& to);
  // Do for an object other than a pod.
  template <class T>
  bool DoChange(const ports::Change<T>& change, Step& step);
  // The version of the object that the cache has.
  template <class T>
  std::shared_ptr<const T> Current(const T& object) const;
  template <class T>
  void Apply(const ports::Change<T>& change);

  assembly::Engine& engine_;
  TextMap<api::PodPtr> assumed_;                   // in the state that the cache has, by uid
  Nominations nominations_, current_nominations_;  // the latter between Show and Restore
  Nominations dropped_;                            // as of the first kept step
  const std::size_t max_steps_;
  const Duration max_age_;
  std::deque<Step> steps_;
  std::uint64_t first_ = 0;
  bool showing_past_ = false;
  std::uint64_t shown_from_ = 0;
  Nominations before_shown_;  // as of that step
  std::vector<bool> done_;    // applied steps from shown_from_ on, between Show and Restore
};

}  // namespace berth::shadow
