// Durations in configuration files ("15s").
#pragma once

#include <chrono>
#include <string_view>

#include "config/value.hpp"

namespace berth::config {

// Leaves `out` alone if the member is absent or null. A text that is no duration is a problem in the words of
// Go's time.ParseDuration. True if there was one.
bool ReadDuration(StructReader& reader, std::string_view name, std::chrono::nanoseconds& out,
                  Problems& problems);

}  // namespace berth::config
