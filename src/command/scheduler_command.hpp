// `berth scheduler`: replaces kube-scheduler.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Runs until SIGINT or SIGTERM (exit code 0). Exit code 1: a flag or file is invalid, reported in one line on
// standard error.
int RunSchedulerCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
