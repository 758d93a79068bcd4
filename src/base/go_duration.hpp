// Durations in Go's format, as they appear in messages and files: "1h30m0s", "10s", "1.5s", "250ms".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace berth {

std::string FormatGoDuration(Duration duration);

// Parses "1h30m", "90s", "-1.5s"; nullopt if the text is not a duration.
std::optional<Duration> ParseGoDuration(std::string_view text);

}  // namespace berth
