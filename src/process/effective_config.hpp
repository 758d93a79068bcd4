// The effective configuration of a command line.
#pragma once

#include <optional>
#include <string>

#include "command_line/flag_set.hpp"
#include "config/scheduler_config.hpp"
#include "process/scheduler_flags.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::process {

// Combines flags and file like kube-scheduler v1.37.1: with --config only the given leader election flags are
// used; without it the deprecated flags are used, too. Flags of older releases have the precedence of those
// releases. `config_text`: the content of the file of --config if the caller has it; otherwise the file is
// read.
Expected<config::SchedulerConfig> EffectiveConfig(const SchedulerFlags& flags,
                                                  const command_line::FlagSet& table,
                                                  const runtime::Registry& plugins,
                                                  const config::FeatureGates& gates,
                                                  const std::optional<std::string>& config_text = {});

}  // namespace berth::process
