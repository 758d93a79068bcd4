// Times in objects.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.hpp"

namespace berth::sandbox {

// Parses RFC 3339 with any offset, to microseconds. nullopt if the text is not a time or not within the range
// of WallTime.
std::optional<WallTime> TimeOf(std::string_view text);

}  // namespace berth::sandbox
