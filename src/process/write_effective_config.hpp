// --write-config-to.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/scheduler_config.hpp"
#include "process/scheduler_flags.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::process {

// Writes the configuration with all defaults to the file of the flag, and returns the exit code. Like
// kube-scheduler, this reports every start-up error that needs no API server.
Expected<int> WriteEffectiveConfig(const SchedulerFlags& flags, const config::SchedulerConfig& config,
                                   const runtime::Registry& plugins, std::vector<std::string> notes);

}  // namespace berth::process
