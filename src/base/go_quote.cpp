#include "base/go_quote.hpp"

#include <algorithm>
#include <cstdint>

#include "base/append_format.hpp"
#include "base/utf8.hpp"

namespace berth {
namespace {

struct Range {
  std::uint32_t first, last;
};

// Unicode's categories Cc, Cf, Co, Zl, Zp and Zs without the space, from U+0080 on.
constexpr Range kNotPrintable[] = {
    {0x80, 0xa0},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},
    {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x1680, 0x1680},   {0x180e, 0x180e},
    {0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},   {0x3000, 0x3000},   {0xe000, 0xf8ff},
    {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0001, 0xe0001}, {0xe0020, 0xe007f},
    {0xf0000, 0x10ffff}};

bool IsPrintable(std::uint32_t code) {
  const auto* range = std::ranges::lower_bound(kNotPrintable, code, {}, &Range::last);
  return range == std::end(kNotPrintable) || code < range->first;
}

// `character` is one valid character of two to four bytes.
std::uint32_t CodePoint(std::string_view character) {
  std::uint32_t code = static_cast<unsigned char>(character[0]) & (0xffu >> (character.size() + 1));
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3f);
  return code;
}

}  // namespace

void AppendGoQuoted(std::string& out, std::string_view text) {
  constexpr std::string_view kShort = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kLetters = "abfnrtv\\\"";
  out += '"';
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t size = Utf8CharacterSize(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(size, 1));
    text.remove_prefix(character.size());
    if (size > 1) {
      const std::uint32_t code = CodePoint(character);
      if (IsPrintable(code)) {
        out += character;
      } else if (code < 0x10000) {
        AppendFormat(out, "\\u{:04x}", code);
      } else {
        AppendFormat(out, "\\U{:08x}", code);
      }
    } else if (const auto known = kShort.find(character[0]); known != kShort.npos) {
      out += '\\';
      out += kLetters[known];
    } else if (size == 0 || byte < 0x20 || byte == 0x7f) {
      AppendFormat(out, "\\x{:02x}", byte);
    } else {
      out += character;
    }
  }
  out += '"';
}

std::string GoQuote(std::string_view text) {
  std::string out;
  AppendGoQuoted(out, text);
  return out;
}

}  // namespace berth
