// `berth migrate`: checks a cluster before its scheduler is replaced.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Exit code 0: no obstacle; 2: obstacles were found; 1: the check could not be completed.
int RunMigrateCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
