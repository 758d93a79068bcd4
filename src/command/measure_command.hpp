// `berth measure`: the measurements that the plugins of a configuration would get for the nodes.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Exit code 0: every query succeeded and every node has a value; 1: unusable input; 2: values are missing, as
// reported.
int RunMeasureCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
