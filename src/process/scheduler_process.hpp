// The process of `berth scheduler`, from its configuration to its end.
#pragma once

#include "base/result.hpp"
#include "command_line/flag_set.hpp"
#include "config/scheduler_config.hpp"
#include "process/scheduler_flags.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::process {

// Schedules until a signal arrives or the lease is lost, and returns the exit code. Errors are start-up
// errors; nothing has been written to the cluster in that case. The calling thread becomes the scheduler
// loop's; no other thread may exist yet.
Expected<int> RunScheduler(const SchedulerFlags& flags, const command_line::FlagSet& table,
                           const config::SchedulerConfig& config, const runtime::Registry& plugins,
                           std::vector<std::string> notes);

}  // namespace berth::process
