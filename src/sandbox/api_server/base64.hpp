// Base64 as RFC 4648 has it, with padding.
#pragma once

#include <string>
#include <string_view>

namespace berth::sandbox {

inline std::string EncodeBase64(std::string_view bytes) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) {
      return k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0u;
    };
    const unsigned bits = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    text += kLetters[bits >> 18 & 63];
    text += kLetters[bits >> 12 & 63];
    text += i + 1 < bytes.size() ? kLetters[bits >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kLetters[bits & 63] : '=';
  }
  return text;
}

}  // namespace berth::sandbox
