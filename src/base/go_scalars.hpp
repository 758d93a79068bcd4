// Parsers for single values with the rules of Go's strconv, which kube-scheduler's flags and files follow.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace berth {

// strconv.ParseBool; nullopt for any other text. "yes" and "on" are not accepted.
constexpr std::optional<bool> ParseGoBool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

// strconv.ParseInt(text, 0, bits), bits 32 or 64: accepts also 0x1F, 0o17, 017, 0b11 and 1_000. Errors have
// Go's texts: `strconv.ParseInt: parsing "x": invalid syntax`.
Expected<std::int64_t> ParseGoInt(std::string_view text, int bits);
// strconv.ParseInt(text, 10, bits): an optional sign and decimal digits. The same errors.
Expected<std::int64_t> ParseGoDecimal(std::string_view text, int bits);

// strconv.ParseUint(text, 10, 31): log levels.
Expected<std::uint32_t> ParseGoLevel(std::string_view text);

// strconv.ParseFloat(text, 32): accepts also 0x1p3, 1_0 and inf. Values outside the range of float32 are
// errors.
Expected<double> ParseGoFloat32(std::string_view text);

}  // namespace berth
