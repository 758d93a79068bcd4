// Base class of the workload controllers.
#pragma once

#include <string>
#include <vector>

#include "base/timer_queue.hpp"
#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/controllers/cluster_view.hpp"
#include "sandbox/controllers/event_recorder.hpp"
#include "sandbox/controllers/fields.hpp"
#include "sandbox/controllers/kinds.hpp"
#include "sandbox/controllers/work_queue.hpp"

namespace berth::sandbox {

// Dependencies of a controller. Must outlive the controllers.
struct ControllerContext {
  Verbs& verbs;
  TimerQueue& timers;
  Random& random;
  ClusterView& view;
  EventRecorder& events;

  Store& store() const { return verbs.store(); }
  WallTime Now() const { return verbs.clock().WallNow(); }
  std::string NowText() const { return FormatTime(Now()); }
};

// Watches objects of one kind and the pods they control, and reconciles one object at a time. Observers only
// enqueue keys; all writes happen in Reconcile, which runs from the timers. One thread.
class Controller : public StoreObserver, public PodObserver {
 public:
  void OnChange(const ResourceType& type, const Change& change) override;
  void OnPod(const PodFacts* before, const PodFacts* after) override;

 protected:
  using Outcome = WorkQueue::Outcome;

  // `name` is the source component of its events ("replicaset-controller").
  Controller(ControllerContext& context, const ResourceType& type, std::string_view name);
  ~Controller() override = default;
  // Enqueues all existing objects. Call it at the end of the derived class's constructor.
  void EnqueueAll();

  // `object` is the current state.
  virtual Outcome Reconcile(const ObjectPtr& object) = 0;
  virtual void OnGone(const std::string& /*key*/) {}
  // True if the controller adopts pods without a controller that match an object's selector.
  virtual bool AdoptsPods() const { return true; }
  // The finalizer that adopted pods get; empty: none.
  virtual std::string_view PodFinalizer() const { return {}; }

  void Emit(const Object& about, std::string_view type, std::string_view reason, const std::string& message);
  // Writes the status if it differs from the stored one.
  ObjectPtr WriteStatus(const Object& object, const json::object& status);
  // The pods that the object controls: the pods it owned, minus those that its selector no longer matches
  // (released), plus matching pods without a controller (adopted, unless the object is being deleted).
  std::vector<const PodFacts*> ClaimPods(const Object& owner, const LabelSelector& selector);
  // Enqueues the objects whose selectors match a pod.
  void EnqueueMatching(const Object& pod) {
    for (const auto& key : selectors_.Matching(pod)) queue_.Add(key);
  }
  const LabelSelector* SelectorOf(const Object& owner) const { return selectors_.Find(owner.ns, owner.key); }

  // Creates a pod from a template and records an event. `name`: empty for a generated one.
  struct PodPlan {
    const json::object& pod_template;
    std::string name = {};
    std::function<void(json::object& pod)> adjust = {};
  };
  ApiResult<ObjectPtr> CreatePod(const Object& owner, const PodPlan& plan);
  void DeletePod(const Object& owner, const Object& pod);

  ControllerContext& context_;
  const ResourceType& type_;
  std::string name_;
  WorkQueue queue_;

 private:
  void Release(const Object& owner, const Object& pod);
  void Adopt(const Object& owner, const Object& pod);

  SelectorTable selectors_;
};

Place PlaceOf(const Object& object);

}  // namespace berth::sandbox
