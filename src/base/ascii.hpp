// Classes and cases of ASCII characters, independent of the locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace berth {

constexpr bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }

// Other characters than A to Z are unchanged.
constexpr char ToAsciiLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string ToAsciiLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ToAsciiLower(c);
  return lower;
}

constexpr bool EqualsIgnoringAsciiCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return ToAsciiLower(x) == ToAsciiLower(y); });
}

}  // namespace berth
