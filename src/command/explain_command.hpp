// berth explain: why is my pod pending, from a dump of the cluster.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Exit code 0: all judged; 1: unusable input or configuration; 2: some objects could not be read, the others
// were judged.
int RunExplainCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
