// `berth ui`: the page over the scheduler's API, on this host.
#pragma once

#include <span>
#include <string>

namespace berth::command {

// `name`: the words that select the command. Runs until SIGINT or SIGTERM. Exit code 0; 1: the scheduler
// cannot be reached, or the port is in use.
int RunUiCommand(const std::string& name, std::span<const std::string> args);

}  // namespace berth::command
