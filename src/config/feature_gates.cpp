#include "config/feature_gates.hpp"

#include <algorithm>
#include <stdexcept>

namespace berth::config {
namespace {

struct Gate {
  std::string_view name;
  bool on;
};
constexpr Gate kGates[] = {
    {"DRAExtendedResource", true},
    {"DynamicResourceAllocation", true},
    {"GenericWorkload", false},
    {"InterPodAffinityHostnameFastPath", false},
    {"MatchLabelKeysInPodTopologySpread", true},
    {"NodeDeclaredFeatures", true},
    {"NodeInclusionPolicyInPodTopologySpread", true},
    {"SchedulerAsyncPreemption", true},
    {"StorageCapacityScoring", true},
    {"VolumeAttributesClass", true},
    {"VolumeLimitScaling", true},
};

}  // namespace

bool FeatureGates::Enabled(std::string_view gate) const {
  if (const auto set = set_.find(gate); set != set_.end()) return set->second;
  const auto known = std::ranges::find(kGates, gate, &Gate::name);
  if (known == std::end(kGates)) throw std::logic_error("no feature gate " + std::string(gate));
  return known->on;
}

}  // namespace berth::config
