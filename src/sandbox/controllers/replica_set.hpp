// Keeps as many pods of a template as asked for.
#pragma once

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: at most 500 pods per turn, the order in which pods are given up,
// generated names, events, status and conditions.
class ReplicaSetController final : public Controller {
 public:
  explicit ReplicaSetController(ControllerContext& context);

 private:
  Outcome Reconcile(const ObjectPtr& object) override;
  // Creates or deletes; the error of a creation that failed.
  std::string Manage(const Object& set, const json::object& spec, const std::vector<const PodFacts*>& pods,
                     std::int64_t missing);
  json::object StatusOf(const json::object& document, const std::vector<const PodFacts*>& pods,
                        const std::string& failure, std::int64_t missing, Duration* wait) const;
};

// `surplus` of the pods, those that are missed least: unassigned before assigned, pending before running, not
// ready before ready, cheap before dear, crowded before alone, young before old. `related` are the pods of
// the same owner's other sets.
std::vector<const PodFacts*> PodsToGiveUp(std::vector<const PodFacts*> pods,
                                          const std::vector<const PodFacts*>& related, std::size_t surplus,
                                          WallTime now);

}  // namespace berth::sandbox
