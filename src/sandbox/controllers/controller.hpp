// What all controllers of workloads have in common.
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

// What a controller needs of the world. Outlives the controllers.
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
// note what has to be looked at; all writing happens in Reconcile, from the timers. One thread.
class Controller : public StoreObserver, public PodObserver {
 public:
  void OnChange(const ResourceType& type, const Change& change) override;
  void OnPod(const PodFacts* before, const PodFacts* after) override;

 protected:
  using Outcome = WorkQueue::Outcome;

  // `name` is what its events say they come from ("replicaset-controller").
  Controller(ControllerContext& context, const ResourceType& type, std::string_view name);
  ~Controller() override = default;
  // Notes every object there is; call it when the derived class is ready.
  void NoteAll();

  // The object's present state, parsed.
  virtual Outcome Reconcile(const ObjectPtr& object) = 0;
  virtual void OnGone(const std::string& /*key*/) {}
  // True if pods without a controller are of interest to objects whose selector matches them.
  virtual bool AdoptsPods() const { return true; }

  void Emit(const Object& about, std::string_view type, std::string_view reason, const std::string& message);
  // Writes the status if it differs.
  ObjectPtr WriteStatus(const Object& object, const json::object& status);
  // The pods that the object controls: those it owned, less those that its selector no longer matches
  // (released), plus those without a controller that match (adopted, unless the object is being deleted).
  std::vector<const PodFacts*> ClaimPods(const Object& owner, const LabelSelector& selector);
  // Notes the objects whose selectors match a pod.
  void NoteMatching(const Object& pod) {
    for (const auto& key : selectors_.Matching(pod)) queue_.Add(key);
  }
  const LabelSelector* SelectorOf(const Object& owner) const { return selectors_.Find(owner.ns, owner.key); }

  // Creates a pod of a template. `name`: empty for a generated one. Says so in an event.
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
