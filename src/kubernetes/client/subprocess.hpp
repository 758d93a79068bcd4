// Runs a program and reads its output.
#pragma once

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::client {

struct Command {
  std::string program{};  // searched in PATH unless it contains a slash
  std::vector<std::string> args{};
  // added to this process's environment; later ones win
  std::vector<std::pair<std::string, std::string>> env{};
  bool interactive = false;  // inherits stdin
  Duration timeout = std::chrono::seconds(60);
};

struct CommandOutput {
  int exit_code = 0;  // 128 + signal if a signal ended it
  std::string out{};  // at most 1 MiB; stderr is inherited
};

// Blocks until the program has ended, the timeout has expired or a stop is requested; the program is then
// killed with all processes that it started. Errors: kNotFound if there is no such program, kTimeout,
// kCancelled, or kInternal.
Expected<CommandOutput> RunCommand(const Command& command, std::stop_token stop);

}  // namespace berth::client
