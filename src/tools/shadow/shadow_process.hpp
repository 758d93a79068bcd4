// A shadow of another scheduler, from its configuration to its end: what `berth scheduler --berth-shadow`
// runs.
#pragma once

#include "base/result.hpp"
#include "process/pflags.hpp"
#include "process/scheduler_flags.hpp"
#include "config/scheduler_config.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::shadow {

// Compares until a signal comes, and returns the exit code. Errors are start-up errors. Nothing in this
// process can write to the cluster: there is no writer, no sink of events and no elector. The calling thread
// becomes the loop's; no other thread may exist yet.
Expected<int> RunShadow(const process::SchedulerFlags& flags, const process::PFlags& table,
                        const config::SchedulerConfig& config, const runtime::Registry& plugins,
                        std::vector<std::string> notes);

}  // namespace berth::shadow
