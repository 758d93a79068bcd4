// Reads the members of a report of the scheduler's API. Absent members are empty: an older or newer scheduler
// may report less.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/value.hpp"

namespace berth::scheduler_state {

std::int64_t NumberAt(const config::Value& value, std::string_view name);
bool FlagAt(const config::Value& value, std::string_view name);
// Unix seconds of a time; nullopt: absent, or no time.
std::optional<std::int64_t> TimeAt(const config::Value& value, std::string_view name);

}  // namespace berth::scheduler_state
