// Flag parsing with errors that suggest a correction.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace berth::command {

// Parses `args` with `app`. nullopt: continue. Otherwise the exit code: 0 after --help, 1 after an error,
// which has been printed in one line to standard error, with the closest existing flag.
std::optional<int> ParseFlags(CLI::App& app, std::span<const std::string> args);

}  // namespace berth::command
