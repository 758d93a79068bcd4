// The disruptions that PodDisruptionBudgets currently allow.
#pragma once

#include <unordered_map>

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: computes the status of each budget (counts, disruptedPods, the
// condition DisruptionAllowed) from the pods that its selector matches and from the scale of their
// controllers. One thread.
class DisruptionController final : public Controller {
 public:
  explicit DisruptionController(ControllerContext& context);
  void OnChange(const ResourceType& type, const Change& change) override;
  void OnPod(const PodFacts* before, const PodFacts* after) override;

 private:
  struct Expectation {
    std::int64_t pods = 0;     // expected number of pods
    std::int64_t healthy = 0;  // required number of healthy pods
    bool unmanaged = false;    // pods without a controller were not counted
    std::string problem;       // why the scale is unknown
  };
  Outcome Reconcile(const ObjectPtr& object) override;
  Expectation Expect(const json::object& spec, const std::vector<const PodFacts*>& pods) const;
  // The total scale of the controllers; every pod has one. nullopt and `problem` if one has no scale.
  std::optional<std::int64_t> Wanted(const std::vector<const PodFacts*>& pods, std::string& problem) const;
  // Evictions in progress: entries of pods that exist and are not being deleted, for two minutes.
  json::object Disrupted(const json::object& status, const std::string& ns, Duration& again) const;
};

}  // namespace berth::sandbox
