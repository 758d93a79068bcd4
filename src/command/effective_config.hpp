// The configuration that a command line means.
#pragma once

#include "command/pflags.hpp"
#include "command/scheduler_flags.hpp"
#include "config/scheduler_config.hpp"
#include "runtime/registry.hpp"

namespace berth::command {

// As kube-scheduler v1.37.1 puts it together: beside --config only leader election flags that were given
// count; without it the deprecated flags do, too. Flags of older releases count where those releases let them
// count.
Expected<config::SchedulerConfig> EffectiveConfig(const SchedulerFlags& flags, const PFlags& table,
                                                  const runtime::Registry& plugins,
                                                  const config::FeatureGates& gates);

}  // namespace berth::command
