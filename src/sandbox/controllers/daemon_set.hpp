// One pod on each node that is eligible.
#pragma once

#include <map>
#include <unordered_map>

#include "sandbox/controllers/controller.hpp"
#include "sandbox/controllers/revisions.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: pods are tied to their node by required node affinity to
// metadata.name and bound by the scheduler; they tolerate what daemons must; RollingUpdate with
// maxUnavailable or maxSurge, OnDelete; revisions, status, events. One thread.
class DaemonSetController final : public Controller {
 public:
  explicit DaemonSetController(ControllerContext& context);
  void OnChange(const ResourceType& type, const Change& change) override;
  void OnPod(const PodFacts* before, const PodFacts* after) override;

 private:
  struct Plan {
    ObjectPtr object;
    Document document;
    Revision revision;
    json::object pod_spec;                                     // with the tolerations of daemons
    std::map<std::string, std::vector<const PodFacts*>> pods;  // by node, also nodes that are gone
    std::int64_t min_ready = 0;
    Duration wait{};

    const json::object& spec() const { return ObjectOrEmpty(document.root(), "spec"); }
  };
  struct Eligible {
    bool run = false;   // a new pod belongs there
    bool stay = false;  // an existing one may go on
  };

  Outcome Reconcile(const ObjectPtr& object) override;
  bool Prepare(Plan& plan);
  Eligible JudgeNode(const Plan& plan, const Object& node) const;
  // Creates and deletes until each eligible node has its one pod; true if more is left for another turn.
  bool Place(Plan& plan, std::string& failure);
  std::string CreateOn(const Plan& plan, const std::string& node);
  void Roll(Plan& plan);
  void RollWithSurge(Plan& plan, std::int64_t surge);
  bool IsNew(const Plan& plan, const PodFacts& pod) const;
  void Gather(Plan& plan) const;
  void Report(Plan& plan);
  std::string TargetOf(const PodFacts& pod) const;

  std::unordered_map<std::string, std::string> targets_;  // by uid: nodes of pods that are not bound yet
  std::unordered_map<std::string, json::array> taints_;   // by node, of those that have any
};

}  // namespace berth::sandbox
