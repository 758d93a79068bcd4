// Validation and repair of UTF-8 in untrusted input.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace berth {

// The size in bytes of the first character of `text`; 0 if it is not valid UTF-8. `text` must not be empty.
inline std::size_t Utf8CharacterSize(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0x80                    ? 1
                           : first >= 0xc2 && first < 0xe0 ? 2
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xf0 && first < 0xf5 ? 4
                                                           : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t k = 1; k < size; ++k) {
    if ((static_cast<unsigned char>(text[k]) & 0xc0) != 0x80) return 0;
  }
  const auto second = size > 1 ? static_cast<unsigned char>(text[1]) : 0u;
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : size;
}

// Checks eight bytes at a time: nearly all text in Kubernetes objects is ASCII.
inline bool IsAscii(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t seen = 0;
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, at, 8);
    seen |= eight;
  }
  for (; left > 0; ++at, --left) seen |= static_cast<unsigned char>(*at);
  return (seen & kHighBits) == 0;
}

inline bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = Utf8CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

// Replaces every byte that is not part of a character with U+FFFD, as Go's JSON encoder does.
inline std::string ToUtf8(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string valid;
  while (!text.empty()) {
    const std::size_t size = Utf8CharacterSize(text);
    if (size == 0)
      valid += "\xef\xbf\xbd";
    else
      valid += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return valid;
}

}  // namespace berth
