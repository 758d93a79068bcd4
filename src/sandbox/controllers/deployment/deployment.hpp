// Rolls out changes of a pod template, replica set by replica set.
#pragma once

#include "sandbox/controllers/controller.hpp"
#include "sandbox/controllers/deployment/replica_sets.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: RollingUpdate and Recreate, pause, proportional scaling, revisions
// and their history in annotations (so that `kubectl rollout undo` works), progress deadline, conditions,
// events.
class DeploymentController final : public Controller {
 public:
  explicit DeploymentController(ControllerContext& context);
  void OnChange(const ResourceType& type, const Change& change) override;
  void OnPod(const PodFacts* before, const PodFacts* after) override;

 private:
  struct State {
    ObjectPtr object;
    Document document;
    Rollout rollout;
    std::optional<ReplicaSetFacts> current;  // the replica set of the current template
    ReplicaSets old;                         // all others, oldest first
    json::object status;                     // the status to write

    const json::object& spec() const { return ObjectOrEmpty(document.root(), "spec"); }
    ReplicaSets all() const;
  };

  Outcome Reconcile(const ObjectPtr& object) override;
  bool AdoptsPods() const override { return false; }

  void Adopt(const Object& deployment);
  State Read(const ObjectPtr& object) const;
  void RecordPause(State& state);
  bool NeedsScaling(const State& state) const;
  ApiResult<> FindCurrent(State& state, bool create);
  ApiResult<> CreateCurrent(State& state, std::int64_t revision);
  void UpdateCurrent(State& state, std::int64_t revision);
  void ShowRevision(State& state, std::int64_t revision);
  void Scale(State& state);
  bool Resize(State& state, ReplicaSetFacts& set, std::int64_t size);
  void Roll(State& state);
  bool GrowCurrent(State& state);
  bool ShrinkOld(State& state);
  void Recreate(State& state);
  void CleanUp(State& state);
  void Summarize(State& state) const;
  Duration CheckProgress(State& state) const;
};

}  // namespace berth::sandbox
