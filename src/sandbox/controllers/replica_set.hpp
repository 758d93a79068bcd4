// Maintains the wanted number of pods of a template.
#pragma once

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: at most 500 pods per reconcile, the deletion order of surplus pods,
// generated names, events, status and conditions.
class ReplicaSetController final : public Controller {
 public:
  explicit ReplicaSetController(ControllerContext& context);

 private:
  Outcome Reconcile(const ObjectPtr& object) override;
  // Creates or deletes pods. Returns the error of a failed creation.
  std::string Manage(const Object& set, const json::object& spec, const std::vector<const PodFacts*>& pods,
                     std::int64_t missing);
  json::object StatusOf(const json::object& document, const std::vector<const PodFacts*>& pods,
                        const std::string& failure, std::int64_t missing, Duration* wait) const;
};

// The `surplus` pods to delete first: unassigned before assigned, pending before running, not ready before
// ready, lower before higher deletion cost, pods on nodes with more related pods first, younger before older.
// `related` are the pods of all sets of the same owner.
std::vector<const PodFacts*> PodsToDelete(std::vector<const PodFacts*> pods,
                                          const std::vector<const PodFacts*>& related, std::size_t surplus,
                                          WallTime now);

}  // namespace berth::sandbox
