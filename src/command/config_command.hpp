// `berth config`: checks and converts scheduler configuration files.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Returns the exit code.
int RunConfigCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
