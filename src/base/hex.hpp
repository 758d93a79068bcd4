// Bytes as hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

#include "base/append_format.hpp"

namespace berth {

// Two lower-case digits for each byte.
inline std::string Hex(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) AppendFormat(text, "{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace berth
