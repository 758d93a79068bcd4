// `berth demo`: a cluster, a scheduler and ten thousand pods, to look at.
#pragma once

#include <span>
#include <string>

namespace berth::command {

// Starts `berth sandbox` and a scheduler as child processes, submits a workload, shows the progress and ends
// with a summary. Exit code 0 if everything that can be placed was placed, 1 otherwise, 130 after Ctrl-C.
int RunDemoCommand(std::span<const std::string> arguments);

}  // namespace berth::command
