#include "scheduler/extenders/json_scanner.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

namespace berth::extenders {
namespace {

constexpr std::size_t kMaxDepth = 10'000;  // as in encoding/json

// Quotes a byte as Go's scanner does: as a rune of its own.
std::string Quoted(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\'') return R"('\'')";
  if (c == '"') return R"('"')";
  if (c == '\\') return R"('\\')";
  constexpr std::string_view kControls = "\a\b\f\n\r\t\v";
  constexpr std::string_view kLetters = "abfnrtv";
  if (const auto known = kControls.find(c); known != kControls.npos)
    return fmt::format("'\\{}'", kLetters[known]);
  if (byte < 0x20 || byte == 0x7F) return fmt::format("'\\x{:02x}'", byte);
  if ((byte >= 0x80 && byte <= 0xA0) || byte == 0xAD) return fmt::format("'\\u{:04x}'", byte);
  std::string text = "'";
  AppendUtf8(text, byte);
  return text + "'";
}

// Scans a text once with the rules of Go's scanner, and finds the end of its first value.
class Scanner {
 public:
  Scanner(std::string_view text, Extents& extents) : text_(text), extents_(extents) {}

  // Returns the value, or an error; "EOF" if there is no value, "unexpected EOF" if it is incomplete.
  Expected<std::string_view> Run() {
    Space();
    if (End()) return Invalid("EOF");
    const std::size_t begin = at_;
    bool value_follows = true;
    while (true) {
      if (value_follows && !Value(value_follows)) break;
      if (value_follows) continue;
      if (open_.empty()) return text_.substr(begin, at_ - begin);
      if (!AfterValue(value_follows)) break;
    }
    return Invalid(wrong_.empty() ? "unexpected EOF" : wrong_);
  }

 private:
  bool End() const { return at_ >= text_.size(); }
  void Space() {
    while (!End() && IsSpace(text_[at_])) ++at_;
  }
  bool Wrong(std::string_view where) {
    if (!End()) wrong_ = fmt::format("invalid character {} {}", Quoted(text_[at_]), where);
    return false;
  }

  // Reads a scalar, or the beginning of an array or object; `again` is set if a value follows.
  bool Value(bool& again) {
    Space();
    if (End()) return false;
    again = false;
    switch (text_[at_]) {
      case '{':
        return Open('{', again);
      case '[':
        return Open('[', again);
      case '"':
        return String();
      case 't':
        return Word("true");
      case 'f':
        return Word("false");
      case 'n':
        return Word("null");
      default:
        if (text_[at_] == '-' || IsAsciiDigit(text_[at_])) return Number();
        return Wrong("looking for beginning of value");
    }
  }

  bool Open(char bracket, bool& again) {
    if (open_.size() == kMaxDepth) return Wrong("exceeded max depth");
    open_.push_back(bracket);
    if (open_.size() <= Extents::kMaxDepth) {
      path_[open_.size() - 1] = extents_.all.size();
      extents_.all.push_back({at_, 0});
    }
    ++at_;
    Space();
    if (End()) return false;
    if (text_[at_] == (bracket == '{' ? '}' : ']')) {
      ++at_;
      Close();
      return true;
    }
    again = true;
    return bracket == '[' || Key();
  }

  bool Key() {
    Space();
    if (End()) return false;
    if (text_[at_] != '"') return Wrong("looking for beginning of object key string");
    if (!String()) return false;
    Space();
    if (End()) return false;
    if (text_[at_] != ':') return Wrong("after object key");
    ++at_;
    return true;
  }

  bool AfterValue(bool& value_follows) {
    Space();
    if (End()) return false;
    const bool object = open_.back() == '{';
    const char c = text_[at_];
    if (c == ',') {
      ++at_;
      value_follows = true;
      return !object || Key();
    }
    if (c != (object ? '}' : ']'))
      return Wrong(object ? "after object key:value pair" : "after array element");
    ++at_;
    Close();
    return true;
  }

  void Close() {
    if (open_.size() <= Extents::kMaxDepth) extents_.all[path_[open_.size() - 1]].end = at_;
    open_.pop_back();
  }

  bool String() {
    ++at_;
    while (true) {
      SkipPlain();
      if (End()) return false;
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < 0x20) return Wrong("in string literal");
      ++at_;
      if (c == '\\' && !Escape()) return false;
    }
  }

  // Skips, eight bytes at a time, to the next byte that ends the string, begins an escape, or is a control.
  void SkipPlain() {
    if constexpr (std::endian::native != std::endian::little) return;
    constexpr std::uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
    // The lowest set bit is exact; higher ones may be caused by a borrow.
    const auto zeros = [](std::uint64_t v) { return (v - kOnes) & ~v & kTops; };
    while (at_ + sizeof(std::uint64_t) <= text_.size()) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, text_.data() + at_, sizeof bytes);
      const std::uint64_t below_space = (bytes - kOnes * 0x20) & ~bytes & kTops;
      const std::uint64_t found = zeros(bytes ^ kOnes * '"') | zeros(bytes ^ kOnes * '\\') | below_space;
      if (found != 0) {
        at_ += static_cast<std::size_t>(std::countr_zero(found)) / 8;
        return;
      }
      at_ += sizeof bytes;
    }
  }

  bool Escape() {
    if (End()) return false;
    const char c = text_[at_];
    if (c != 'u') {
      if (std::string_view("bfnrt\\/\"").find(c) == std::string_view::npos)
        return Wrong("in string escape code");
      ++at_;
      return true;
    }
    ++at_;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (End()) return false;
      if (!IsHex(text_[at_])) return Wrong("in \\u hexadecimal character escape");
    }
    return true;
  }

  bool Word(std::string_view word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      ++at_;
      if (End()) return false;
      if (text_[at_] != word[i]) return Wrong(fmt::format("in literal {} (expecting '{}')", word, word[i]));
    }
    ++at_;
    return true;
  }

  bool Digits(std::string_view where) {
    if (End()) return false;
    if (!IsAsciiDigit(text_[at_])) return Wrong(where);
    while (!End() && IsAsciiDigit(text_[at_])) ++at_;
    return true;
  }

  bool Number() {
    if (text_[at_] == '-') ++at_;
    if (End()) return false;
    if (text_[at_] == '0') {
      ++at_;
    } else if (!Digits("in numeric literal")) {
      return false;
    }
    if (!End() && text_[at_] == '.') {
      ++at_;
      if (!Digits("after decimal point in numeric literal")) return false;
    }
    if (!End() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (!End() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!Digits("in exponent of numeric literal")) return false;
    }
    return true;
  }

  std::string_view text_;
  Extents& extents_;
  std::size_t path_[Extents::kMaxDepth] = {};  // indexes in extents_ of the open arrays and objects
  std::size_t at_ = 0;
  std::vector<char> open_;
  std::string wrong_;
};

}  // namespace

void AppendUtf8(std::string& out, char32_t rune) {
  const auto put = [&](char32_t bits) { out += static_cast<char>(bits); };
  if (rune < 0x80) {
    put(rune);
  } else if (rune < 0x800) {
    put(0xC0 | rune >> 6);
    put(0x80 | (rune & 0x3F));
  } else if (rune < 0x10000) {
    put(0xE0 | rune >> 12);
    put(0x80 | (rune >> 6 & 0x3F));
    put(0x80 | (rune & 0x3F));
  } else {
    put(0xF0 | rune >> 18);
    put(0x80 | (rune >> 12 & 0x3F));
    put(0x80 | (rune >> 6 & 0x3F));
    put(0x80 | (rune & 0x3F));
  }
}

Expected<std::string_view> ScanFirstValue(std::string_view text, Extents& extents) {
  return Scanner(text, extents).Run();
}

}  // namespace berth::extenders
