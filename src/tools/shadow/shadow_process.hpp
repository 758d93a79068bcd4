// The process of `berth scheduler --berth-shadow`, from its configuration to its end.
#pragma once

#include "base/result.hpp"
#include "command_line/flag_set.hpp"
#include "config/scheduler_config.hpp"
#include "process/scheduler_flags.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::shadow {

// Compares until a signal arrives, and returns the exit code. Errors are start-up errors. This process cannot
// write to the cluster: it has no writer, no event sink and no leader elector. The calling thread becomes the
// loop's; no other thread may exist yet.
Expected<int> RunShadow(const process::SchedulerFlags& flags, const command_line::FlagSet& table,
                        const config::SchedulerConfig& config, const runtime::Registry& plugins,
                        std::vector<std::string> notes);

}  // namespace berth::shadow
