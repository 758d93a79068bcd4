// One pass over a text: is it JSON, and where do its parts end? Private to json.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::extenders {

inline bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Where arrays and objects begin and end, down to the members of what a list of objects holds: whoever looks
// for one name in each of a thousand nodes need not read the rest of them again.
struct Extents {
  static constexpr std::size_t kDeepest = 6;
  struct Extent {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  // The end of the one that begins there; 0 if it is not known.
  std::size_t EndOf(std::size_t begin) const {
    const auto found = std::ranges::lower_bound(all, begin, {}, &Extent::begin);
    return found != all.end() && found->begin == begin ? found->end : 0;
  }

  const char* text = nullptr;  // what begins and ends count from
  std::vector<Extent> all;     // by begin
};

// The first value of the text as Go's decoder finds it, or what is wrong with it in Go's words; "EOF" if
// there is none and "unexpected EOF" if it has no end.
Expected<std::string_view> ScanFirstValue(std::string_view text, Extents& extents);

void AppendUtf8(std::string& out, char32_t rune);

}  // namespace berth::extenders
