// `berth migrate`: looks at a cluster before its scheduler is changed.
#pragma once

#include <span>
#include <string>

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Exit code 0: nothing stands in the way; 2: something does; 1: it could not be found out.
int RunMigrateCommand(std::span<const std::string> args, const runtime::Registry& plugins);

}  // namespace berth::command
