// Ranges of plugin arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::plugins {

// Adds "field: Invalid value: 0: must be from 1 to 900" to `errors` if the value is outside of the range.
void CheckRange(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most,
                std::vector<std::string>& errors);

}  // namespace berth::plugins
