// Kubernetes' feature gates, as kube-scheduler v1.37.1 knows them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::config {

// Which features are on. A default-made object has every gate at its default.
class FeatureGates {
 public:
  // "A=true,B=false", as given to --feature-gates; AllAlpha and AllBeta name all gates of a stage. Errors are
  // kube-scheduler's texts.
  static Expected<FeatureGates> Parse(std::string_view text);

  // A gate that does not exist is a mistake in the program.
  bool Enabled(std::string_view gate) const;

 private:
  std::map<std::string, bool, std::less<>> set_;  // that differ from the default
};

}  // namespace berth::config
