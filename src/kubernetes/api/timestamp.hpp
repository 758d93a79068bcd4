// Times in Kubernetes' format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::api {

// Unix seconds of an RFC 3339 time ("2026-01-02T03:04:05Z"; offsets are allowed, fractions are cut off).
// nullopt if the text is not a time.
std::optional<std::int64_t> ParseTimestamp(std::string_view text);

// Formats Unix seconds in UTC. For years 0 to 9999.
std::string FormatTimestamp(std::int64_t unix_seconds);

}  // namespace berth::api
