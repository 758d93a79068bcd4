// berth measure: what the plugins of a configuration would know of the nodes.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Exit code 0: every signal was answered and every node has a value; 1: unusable input; 2: something is
// missing, and it was said what.
int RunMeasureCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
