// Conversion of floating-point numbers to integers as in Go. Quantities are untrusted input and may be
// absurdly large.
#pragma once

#include <cstdint>

namespace berth {

// Rounds towards zero. Numbers outside of the range, and NaN, become INT64_MIN, as in Go programs for amd64;
// the conversion of C++ is undefined for them.
constexpr std::int64_t Truncate(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  return value >= -kLimit && value < kLimit ? static_cast<std::int64_t>(value) : INT64_MIN;
}

}  // namespace berth
