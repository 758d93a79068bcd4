#pragma once

#include <cstddef>
#include <string_view>

namespace berth {

// The longest beginning of a UTF-8 text that has at most so many bytes and does not end within a character. A
// view of `text`.
constexpr std::string_view Utf8Prefix(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  std::size_t end = most_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace berth
