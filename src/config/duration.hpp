// Durations in configuration files ("15s").
#pragma once

#include <chrono>
#include <string_view>

#include "config/value.hpp"

namespace berth::config {

// Leaves `out` unchanged if the member is absent or null. An invalid text is a problem with the message of
// Go's time.ParseDuration. Returns true if there was a problem.
bool ReadDuration(StructReader& reader, std::string_view name, std::chrono::nanoseconds& out,
                  Problems& problems);

}  // namespace berth::config
