// The scheduler configuration of a command line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::process {

// Applies flags to the leader election of a file before it is validated. May be empty.
using AdjustElection = std::function<void(config::LeaderElection&)>;

// Reads a configuration of any version. Completes and validates the arguments of plugins.
Expected<config::SchedulerConfig> ReadConfig(const std::string& text, const runtime::Registry& plugins,
                                             const config::FeatureGates& gates = {},
                                             AdjustElection adjust = {});

// The same from a file; the defaults if there is none. Errors begin with the file's name.
Expected<config::SchedulerConfig> LoadConfig(const std::string& path, const runtime::Registry& plugins,
                                             const config::FeatureGates& gates = {});

// Builds all plugins and discards them: finds their errors without an API server. Returns the resources that
// they request (framework::Handle). `notes` receives lines for the log.
Expected<std::vector<std::string>> TryPlugins(const config::SchedulerConfig& config,
                                              const runtime::Registry& plugins,
                                              std::vector<std::string>& notes);

}  // namespace berth::process
