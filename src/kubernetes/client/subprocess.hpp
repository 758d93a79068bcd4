// Runs a program and reads what it says.
#pragma once

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::client {

struct Command {
  std::string program{};  // looked for in PATH unless it contains a slash
  std::vector<std::string> args{};
  std::vector<std::pair<std::string, std::string>> env{};  // besides our own; later ones win
  bool interactive = false;                                // gets our stdin
  Duration timeout = std::chrono::seconds(60);
};

struct CommandOutput {
  int exit_code = 0;  // 128 + signal if one ended it
  std::string out{};  // at most a mebibyte; stderr is ours
};

// Blocks until the program has ended, the time is over or a stop is asked for; then it is killed, with all
// that it started. Fails with kNotFound if there is no such program, kTimeout, kCancelled, or kInternal.
Expected<CommandOutput> RunCommand(const Command& command, std::stop_token stop);

}  // namespace berth::client
