// Durations as Go writes and reads them, since they stand in messages and in files: "1h30m0s", "10s", "1.5s",
// "250ms".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace berth {

std::string FormatGoDuration(Duration duration);

// "1h30m", "90s", "-1.5s"; nothing if it is no duration.
std::optional<Duration> ParseGoDuration(std::string_view text);

}  // namespace berth
