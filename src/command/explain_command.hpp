// `berth explain` and `berth why`: explain why pods are pending.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Exit code 0: all pods were evaluated; 1: unusable input or configuration, or an unreachable cluster; 2:
// some objects could not be read, the others were evaluated.
int RunExplainCommand(std::span<const std::string> args, const runtime::Registry& plugins);

// The same after the state of the pods in the running scheduler. `name`: the words that select the command.
int RunWhyCommand(const std::string& name, std::span<const std::string> args,
                  const runtime::Registry& plugins);

// The commands of a kubectl plugin: `kubectl berth` runs the program kubectl-berth.
int RunKubectlPlugin(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
