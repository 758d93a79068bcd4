// The configurations that a report compares.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/feature_gates.hpp"
#include "config/scheduler_config.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::simulate {

struct NamedConfig {
  std::string name;  // ConfigNames
  config::SchedulerConfig config;
};

// Reads configuration files; an empty path is the default configuration. Fails for a configuration with
// extenders: their replies would not be repeatable.
Expected<std::vector<NamedConfig>> LoadConfigs(const std::vector<std::string>& files,
                                               const runtime::Registry& plugins,
                                               const config::FeatureGates& gates);

}  // namespace berth::simulate
