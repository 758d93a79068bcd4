// `berth rebalance`: evicts pods from overloaded nodes that the scheduler would place on better ones.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

int RunRebalanceCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
