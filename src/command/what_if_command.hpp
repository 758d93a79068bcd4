// `berth what-if`: what the scheduler would do after changes of the cluster.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Exit code 0: answered; 1: unusable input, or an unreachable cluster; 2: answered without some objects,
// which could not be read.
int RunWhatIfCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
