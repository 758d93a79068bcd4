// `berth completion`: prints a script that completes berth's command lines in a shell.
#pragma once

#include <span>
#include <string>

namespace berth::command {

int RunCompletionCommand(std::span<const std::string> args);

// Limits the time of a completion, which may contact a cluster or run a credential plugin: the process exits
// with code 1 after some seconds.
void LimitCompletionTime();

}  // namespace berth::command
