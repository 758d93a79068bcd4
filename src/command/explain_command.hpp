// `berth explain`: explains from a dump of the cluster why pods are pending.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Exit code 0: all pods were evaluated; 1: unusable input or configuration; 2: some objects could not be
// read, the others were evaluated.
int RunExplainCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
