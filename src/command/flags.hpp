// Parsing of flags, with errors a person can act on.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace berth::command {

// Parses `args` with `app`. Nothing: go on. Else the exit code: 0 after --help, 1 after a mistake, which has
// been named in one line on standard error, with the nearest flag that exists.
std::optional<int> ParseFlags(CLI::App& app, std::span<const std::string> args);

}  // namespace berth::command
