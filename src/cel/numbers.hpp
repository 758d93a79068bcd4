// Numbers with the rules and texts of Go's strconv and fmt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::cel {

// The integer that equals `value`; nullopt if there is none (cel-go's lossless conversions).
std::optional<std::int64_t> ExactInt(double value);
std::optional<std::uint64_t> ExactUint(double value);
// The integer part; nullopt outside the range that cel-go converts.
std::optional<std::int64_t> TruncateToInt(double value);
std::optional<std::uint64_t> TruncateToUint(double value);

// strconv.ParseInt and ParseUint for base 10 or 16, 64 bits, without prefix; ParseFloat for 64 bits.
std::optional<std::int64_t> ParseInt(std::string_view text, int base = 10);
std::optional<std::uint64_t> ParseUint(std::string_view text, int base = 10);
std::optional<double> ParseDouble(std::string_view text);

// fmt's %g: 1e+06, 0.5, +Inf, NaN.
std::string FormatGoDouble(double value);
// The shortest digits without exponent (strconv.FormatFloat(value, 'f', -1, 64)).
std::string FormatFixed(double value);

}  // namespace berth::cel
