// Kubernetes' feature gates of kube-scheduler v1.37.1.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::config {

// The state of all gates. A default-constructed object has every gate at its default.
class FeatureGates {
 public:
  // Parses the values of --feature-gates in order, each "A=true,kube:B=false"; AllAlpha and AllBeta apply to
  // all gates of a stage that are not named. Errors have kube-scheduler's texts. `notes` receives texts for
  // the log: gates that will be removed, and scheduling gates that have no effect in Berth.
  static Expected<FeatureGates> Parse(std::span<const std::string> values, std::vector<std::string>& notes);

  // The gate must exist.
  bool Enabled(std::string_view gate) const;

  // Visits AllAlpha, AllBeta, then every gate by name; the stage as in metrics: ALPHA, BETA, DEPRECATED,
  // empty for general availability.
  void ForEach(
      const std::function<void(std::string_view gate, std::string_view stage, bool on)>& visit) const;

 private:
  Expected<void> Set(const std::string& gate, bool on, std::vector<std::string>& notes);
  std::string UnmetNeeds() const;

  std::map<std::string, bool, std::less<>> set_;  // gates set explicitly
  bool all_alpha_ = false;                        // as set, for metrics
  bool all_beta_ = false;
};

}  // namespace berth::config
