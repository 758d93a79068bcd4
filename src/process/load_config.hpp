// The scheduler configuration of a command line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::process {

// Flags that are laid over the election of a file before it is checked. May be empty.
using AdjustElection = std::function<void(config::LeaderElection&)>;

// Reads a configuration of any version. The arguments of plugins are completed and checked.
Expected<config::SchedulerConfig> ReadConfig(const std::string& text, const runtime::Registry& plugins,
                                             const config::FeatureGates& gates = {},
                                             AdjustElection adjust = {});

// The same from a file; without one the defaults. Errors begin with the file's name.
Expected<config::SchedulerConfig> LoadConfig(const std::string& path, const runtime::Registry& plugins,
                                             const config::FeatureGates& gates = {});

// Builds all plugins and throws them away: finds what is wrong with them without an API server. `notes`
// receives what should be in the log.
Expected<void> TryPlugins(const config::SchedulerConfig& config, const runtime::Registry& plugins,
                          std::vector<std::string>& notes);

}  // namespace berth::process
