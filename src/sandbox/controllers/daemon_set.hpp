// One pod on each node that is eligible.
#pragma once

#include <map>
#include <unordered_map>

#include "sandbox/controllers/controller.hpp"
#include "sandbox/controllers/revisions.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: pods are tied to their node by required node affinity to
// metadata.name and bound by the scheduler; they get the tolerations of daemon pods; RollingUpdate with
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
    json::object pod_spec;                                     // with the tolerations of daemon pods
    std::map<std::string, std::vector<const PodFacts*>> pods;  // by node, including deleted nodes
    std::int64_t min_ready = 0;
    Duration wait{};

    const json::object& spec() const { return ObjectOrEmpty(document.root(), "spec"); }
  };
  struct Eligible {
    bool run = false;   // a new pod should be created on the node
    bool stay = false;  // an existing pod may continue to run
  };

  Outcome Reconcile(const ObjectPtr& object) override;
  bool Prepare(Plan& plan);
  Eligible EvaluateNode(const Plan& plan, const Object& node) const;
  // Creates and deletes pods until each eligible node has exactly one; true if work is left for the next
  // reconcile.
  bool Place(Plan& plan, std::string& failure);
  std::string CreateOn(const Plan& plan, const std::string& node);
  void Roll(Plan& plan);
  void RollWithSurge(Plan& plan, std::int64_t surge);
  bool IsNew(const Plan& plan, const PodFacts& pod) const;
  void Gather(Plan& plan) const;
  void Report(Plan& plan);
  std::string TargetOf(const PodFacts& pod) const;

  // by uid: target nodes of pods that are not bound yet
  std::unordered_map<std::string, std::string> targets_;
  std::unordered_map<std::string, json::array> taints_;  // by node; only nodes with taints
};

}  // namespace berth::sandbox
