// `berth demo`: a simulated cluster, a scheduler and ten thousand pods.
#pragma once

#include <span>
#include <string>

namespace berth::command {

// Starts `berth sandbox` and a scheduler as child processes, creates a workload, shows the progress and
// prints a summary. Exit code 0 if every pod that fits was bound, 1 otherwise, 130 after Ctrl-C.
int RunDemoCommand(std::span<const std::string> arguments);

}  // namespace berth::command
