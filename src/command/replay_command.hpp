// `berth replay`: repeats a recording, or compares it with another configuration.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Returns the exit code.
int RunReplayCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
