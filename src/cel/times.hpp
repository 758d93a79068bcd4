// Durations and timestamps with the rules and texts of Go's package time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cel/value.hpp"

namespace berth::cel {

inline constexpr std::int64_t kMinTimestamp = -62135596800;  // 0001-01-01T00:00:00Z
inline constexpr std::int64_t kMaxTimestamp = 253402300799;  // 9999-12-31T23:59:59Z

// time.ParseDuration: "1h30m", "-1.5s"; nullopt for other texts. Nanoseconds.
std::optional<std::int64_t> ParseDuration(std::string_view text);
// "5400s", "0.5s": how CEL converts a duration to a string.
std::string DurationSeconds(std::int64_t nanoseconds);
// time.Duration.String: "1h30m0s".
std::string GoDurationText(std::int64_t nanoseconds);

// An RFC 3339 time as time.Parse accepts it. The value is an error ("timestamp overflow") outside of CEL's
// range; absent if the text has another form.
Value ParseTimestamp(std::string_view text);
// RFC 3339 with as many fractional digits as needed, in the timestamp's own offset.
std::string FormatTimestamp(const TimestampObject& timestamp);
// time.Time.String.
std::string GoTimestampText(const TimestampObject& timestamp);

struct CivilTime {
  std::int64_t year;
  int month, day, hour, minute, second;  // month and day from 1
  int day_of_year, day_of_week;          // from 0; 0 is Sunday
};
CivilTime ToCivil(std::int64_t seconds);

// The offset in seconds east of UTC of the time zone `name` at the time `seconds`: "UTC", an IANA name
// (read from the system's time zone files), or "+01:30". Errors have cel-go's texts.
Value TimeZoneOffset(std::string_view name, std::int64_t seconds);

// The same for a name.
Value NamedZoneOffset(std::string_view name, std::int64_t seconds);

// Sums as cel-go computes them; errors if they overflow.
Value AddDuration(const Value& timestamp, std::int64_t nanoseconds);
Value SubtractTimestamps(const Value& a, const Value& b);

}  // namespace berth::cel
