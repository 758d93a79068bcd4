// A single pass that validates JSON and records where its parts end. Private to json.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.hpp"
#include "base/result.hpp"

namespace berth::extenders {

inline bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
inline bool IsHex(char c) { return IsAsciiDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// The extents of arrays and objects, down to the members of objects in a list. A search for one name in each
// of a thousand nodes skips their other parts.
struct Extents {
  static constexpr std::size_t kMaxDepth = 6;
  struct Extent {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  // The end of the part that begins there; 0 if unknown.
  std::size_t EndOf(std::size_t begin) const {
    const auto found = std::ranges::lower_bound(all, begin, {}, &Extent::begin);
    return found != all.end() && found->begin == begin ? found->end : 0;
  }

  const char* text = nullptr;  // base of the offsets
  std::vector<Extent> all;     // sorted by begin
};

// The first value of the text as found by Go's decoder, or an error with Go's text; "EOF" if there is no
// value, "unexpected EOF" if it is incomplete.
Expected<std::string_view> ScanFirstValue(std::string_view text, Extents& extents);

void AppendUtf8(std::string& out, char32_t rune);

}  // namespace berth::extenders
