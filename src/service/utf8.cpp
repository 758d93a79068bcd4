#include "service/utf8.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "base/json_text.hpp"

namespace berth::service {
namespace {

// The character at the start of a text, and its size in bytes; 0 if it is invalid.
struct Character {
  std::uint32_t code = 0xFFFD;
  std::size_t bytes = 0;
};

Character First(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, bytes};
}

}  // namespace

std::string ValidUtf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character next = First(bytes);
    const std::size_t taken = next.bytes == 0 ? 1 : next.bytes;
    out += next.bytes == 0 ? std::string_view("\xEF\xBF\xBD") : bytes.substr(0, taken);
    bytes.remove_prefix(taken);
  }
  return out;
}

void AppendGoJsonString(std::string& out, std::string_view bytes) {
  std::string plain;
  AppendJsonString(plain, ValidUtf8(bytes));
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    const std::string_view rest = std::string_view(plain).substr(i, 3);
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (rest == "\xE2\x80\xA8" || rest == "\xE2\x80\xA9") {
      out += rest == "\xE2\x80\xA8" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += c;
    }
  }
}

std::string GoQuoted(std::string_view bytes) {
  std::string out = "\"";
  while (!bytes.empty()) {
    const Character next = First(bytes);
    const std::size_t taken = next.bytes == 0 ? 1 : next.bytes;
    constexpr std::string_view kShort = "\a\b\f\n\r\t\v\\\"";
    constexpr std::string_view kLetters = "abfnrtv\\\"";
    const auto known = kShort.find(bytes[0]);
    if (next.bytes == 0 ||
        (next.bytes == 1 && known == kShort.npos && (next.code < 0x20 || next.code == 0x7F))) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(bytes[0])));
    } else if (next.bytes == 1 && known != kShort.npos) {
      out += '\\';
      out += kLetters[known];
    } else {
      out += bytes.substr(0, taken);
    }
    bytes.remove_prefix(taken);
  }
  return out + "\"";
}

}  // namespace berth::service
