// Kubernetes' feature gates, as kube-scheduler v1.37.1 knows them.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::config {

// Which features are on. A default-made object has every gate at its default.
class FeatureGates {
 public:
  // The values of --feature-gates in their order, each "A=true,kube:B=false"; AllAlpha and AllBeta stand for
  // all gates of a stage that are not named. Errors are kube-scheduler's texts. `notes` receives what should
  // be in the log: gates that will go away, and gates about scheduling that make no difference to Berth.
  static Expected<FeatureGates> Parse(std::span<const std::string> values, std::vector<std::string>& notes);

  // A gate that does not exist is a mistake in the program.
  bool Enabled(std::string_view gate) const;

  // AllAlpha, AllBeta, then every gate by name; the stage as metrics name it: ALPHA, BETA, DEPRECATED,
  // nothing for general availability.
  void ForEach(
      const std::function<void(std::string_view gate, std::string_view stage, bool on)>& visit) const;

 private:
  Expected<void> Set(const std::string& gate, bool on, std::vector<std::string>& notes);
  std::string UnmetNeeds() const;

  std::map<std::string, bool, std::less<>> set_;  // that were named
  bool all_alpha_ = false;                        // as named, for metrics
  bool all_beta_ = false;
};

}  // namespace berth::config
