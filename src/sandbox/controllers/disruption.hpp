// What PodDisruptionBudgets allow at the moment.
#pragma once

#include <unordered_map>

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: status (counts, disruptedPods, the condition DisruptionAllowed) of
// each budget from the pods that its selector matches and from how many their controllers want. One thread.
class DisruptionController final : public Controller {
 public:
  explicit DisruptionController(ControllerContext& context);
  void OnChange(const ResourceType& type, const Change& change) override;
  void OnPod(const PodFacts* before, const PodFacts* after) override;

 private:
  struct Expectation {
    std::int64_t pods = 0;     // that there should be
    std::int64_t healthy = 0;  // of them that there must be
    std::string problem;       // the controllers cannot be found
  };
  Outcome Reconcile(const ObjectPtr& object) override;
  Expectation Expect(const json::object& spec, const std::vector<const PodFacts*>& pods) const;
  // What the controllers of the pods want in total; nothing if one has no scale.
  std::optional<std::int64_t> Wanted(const std::vector<const PodFacts*>& pods) const;
  // Of evictions under way: those whose pods are still there and not being deleted, for two minutes.
  json::object Disrupted(const json::object& status, const std::string& ns, Duration& again) const;
};

}  // namespace berth::sandbox
