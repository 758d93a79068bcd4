// `berth config`: looks at scheduler configuration files before a scheduler does.
#pragma once

#include <span>
#include <string>

namespace berth::command {

// Returns the exit code.
int RunConfigCommand(std::span<const std::string> args);

}  // namespace berth::command
