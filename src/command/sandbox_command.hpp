// `berth sandbox`: a simulated cluster.
#pragma once

#include <span>
#include <string>

namespace berth::command {

// Runs until SIGINT or SIGTERM. Returns the exit code.
int RunSandboxCommand(std::span<const std::string> arguments);

}  // namespace berth::command
