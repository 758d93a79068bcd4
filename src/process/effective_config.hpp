// The configuration that a command line means.
#pragma once

#include <optional>
#include <string>

#include "process/pflags.hpp"
#include "process/scheduler_flags.hpp"
#include "config/scheduler_config.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::process {

// As kube-scheduler v1.37.1 puts it together: beside --config only leader election flags that were given
// count; without it the deprecated flags do, too. Flags of older releases count where those releases let them
// count. `config_text`: what is in the file of --config, for those who know; else it is read.
Expected<config::SchedulerConfig> EffectiveConfig(const SchedulerFlags& flags, const PFlags& table,
                                                  const runtime::Registry& plugins,
                                                  const config::FeatureGates& gates,
                                                  const std::optional<std::string>& config_text = {});

}  // namespace berth::process
