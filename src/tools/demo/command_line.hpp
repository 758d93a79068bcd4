// Command lines of the programs that the demo starts, and the ends of their logs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::demo {

// Splits a command line at spaces; quotes group words. {name} is replaced by its value.
std::vector<std::string> CommandLine(
    std::string_view text, const std::vector<std::pair<std::string, std::string>>& replacements = {});

// The last lines of a log file, for error messages.
std::string LastLines(const std::string& file, std::size_t lines);

}  // namespace berth::demo
