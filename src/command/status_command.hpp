// `berth status`, `berth queue`, `berth retry` and `berth reload`: the running scheduler.
#pragma once

#include <span>
#include <string>

namespace berth::command {

// `name`: the words that select the command, such as "kubectl berth status". Exit code 0; 1: the scheduler
// cannot be reached.
int RunStatusCommand(const std::string& name, std::span<const std::string> args);
int RunQueueCommand(const std::string& name, std::span<const std::string> args);
int RunRetryCommand(const std::string& name, std::span<const std::string> args);
int RunReloadCommand(const std::string& name, std::span<const std::string> args);

}  // namespace berth::command
