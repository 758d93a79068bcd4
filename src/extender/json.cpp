#include "extender/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace berth::extender {
namespace {

constexpr std::size_t kDeepest = 10'000;  // as encoding/json
constexpr char32_t kReplacement = 0xFFFD;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

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

// A byte as Go's scanner quotes it: taken for a rune of its own.
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

// Goes over a text once, as Go's scanner does, and finds where its first value ends.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // The value, or what is wrong with it; "EOF" if there is none and "unexpected EOF" if it has no end.
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

  // One value, or the beginning of an array or object; then `again` says whether a value follows.
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
        if (text_[at_] == '-' || IsDigit(text_[at_])) return Number();
        return Wrong("looking for beginning of value");
    }
  }

  bool Open(char bracket, bool& again) {
    if (open_.size() == kDeepest) return Wrong("exceeded max depth");
    open_.push_back(bracket);
    ++at_;
    Space();
    if (End()) return false;
    if (text_[at_] == (bracket == '{' ? '}' : ']')) {
      ++at_;
      open_.pop_back();
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
    open_.pop_back();
    return true;
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

  // Eight bytes at a time, as long as none of them ends the string, begins an escape, or is a control.
  void SkipPlain() {
    constexpr std::uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
    const auto has_zero = [](std::uint64_t v) { return (v - kOnes) & ~v & kTops; };
    while (at_ + sizeof(std::uint64_t) <= text_.size()) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, text_.data() + at_, sizeof bytes);
      const std::uint64_t below_space = (bytes - kOnes * 0x20) & ~bytes & kTops;
      if ((has_zero(bytes ^ kOnes * '"') | has_zero(bytes ^ kOnes * '\\') | below_space) != 0) return;
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
    if (!IsDigit(text_[at_])) return Wrong(where);
    while (!End() && IsDigit(text_[at_])) ++at_;
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
  std::size_t at_ = 0;
  std::vector<char> open_;
  std::string wrong_;
};

// The end of the string that begins at `at`; the text is known to be good.
std::size_t EndOfString(std::string_view text, std::size_t at) {
  for (++at;; ++at) {
    const char* quote = static_cast<const char*>(std::memchr(text.data() + at, '"', text.size() - at));
    at = static_cast<std::size_t>(quote - text.data());
    std::size_t slashes = 0;
    while (text[at - slashes - 1] == '\\') ++slashes;
    if (slashes % 2 == 0) return at + 1;
  }
}

std::size_t EndOfValue(std::string_view text, std::size_t at) {
  if (text[at] == '"') return EndOfString(text, at);
  if (text[at] != '{' && text[at] != '[') {
    while (at < text.size() && !IsSpace(text[at]) && text[at] != ',' && text[at] != ']' && text[at] != '}')
      ++at;
    return at;
  }
  std::size_t depth = 0;
  while (true) {
    const char c = text[at];
    if (c == '"') {
      at = EndOfString(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at + 1;
    ++at;
  }
}

std::optional<char32_t> FourHex(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  char32_t rune = 0;
  for (const char c : text.substr(2, 4)) {
    if (!IsHex(c)) return std::nullopt;
    const int digit = IsDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
    rune = rune * 16 + static_cast<char32_t>(digit);
  }
  return rune;
}

// The length of the UTF-8 sequence at the beginning of the text; 0 if it is none.
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : (first & 0xF0) == 0xE0        ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

// An escape at the beginning of the text; returns its length.
std::size_t AppendEscape(std::string& out, std::string_view text) {
  if (text[1] != 'u') {
    constexpr std::string_view kLetters = "bfnrt";
    constexpr std::string_view kControls = "\b\f\n\r\t";
    const auto known = kLetters.find(text[1]);
    out += known == kLetters.npos ? text[1] : kControls[known];
    return 2;
  }
  char32_t rune = *FourHex(text);
  std::size_t length = 6;
  if (rune >= 0xD800 && rune < 0xE000) {
    const auto second = FourHex(text.substr(6));
    const bool pair = rune < 0xDC00 && second && *second >= 0xDC00 && *second < 0xE000;
    rune = pair ? 0x10000 + ((rune - 0xD800) << 10) + (*second - 0xDC00) : kReplacement;
    if (pair) length = 12;
  }
  AppendUtf8(out, rune);
  return length;
}

}  // namespace

Json::Kind Json::kind() const {
  switch (text_.front()) {
    case 'n':
      return Kind::kNull;
    case 't':
    case 'f':
      return Kind::kBool;
    case '"':
      return Kind::kString;
    case '[':
      return Kind::kArray;
    case '{':
      return Kind::kObject;
    default:
      return Kind::kNumber;
  }
}

std::string_view Json::KindName() const {
  constexpr std::string_view kNames[] = {"null", "bool", "number", "string", "array", "object"};
  return kNames[static_cast<std::size_t>(kind())];
}

std::string Json::String() const { return Unquoted(text_); }

bool Json::Cursor::Next() {
  SkipSpace();
  if (text_[at_] == ',') {
    ++at_;
    SkipSpace();
  }
  return text_[at_] != '}' && text_[at_] != ']';
}

std::string_view Json::Cursor::TakeKey() {
  const std::size_t begin = at_;
  at_ = EndOfString(text_, at_);
  const std::string_view key = text_.substr(begin, at_ - begin);
  SkipSpace();
  ++at_;  // the colon
  return key;
}

std::string_view Json::Cursor::TakeValue() {
  SkipSpace();
  const std::size_t begin = at_;
  at_ = EndOfValue(text_, at_);
  return text_.substr(begin, at_ - begin);
}

void Json::Cursor::SkipSpace() {
  while (IsSpace(text_[at_])) ++at_;
}

Expected<Json> FirstValue(std::string_view text, std::string_view cut_short) {
  auto value = Scanner(text).Run();
  if (value) return Json(*value);
  const bool ended = value.error().message == "EOF" || value.error().message == "unexpected EOF";
  if (ended && !cut_short.empty()) return Invalid(std::string(cut_short));
  return std::unexpected(std::move(value).error());
}

std::string Unquoted(std::string_view quoted) {
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\\') {
      i += AppendEscape(out, text.substr(i));
      continue;
    }
    const std::size_t length = SequenceLength(text.substr(i));
    if (length == 0) AppendUtf8(out, kReplacement);
    out.append(text, i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

bool IsKey(std::string_view quoted, std::string_view name) {
  const std::string key = Unquoted(quoted);
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  std::size_t at = 0;
  for (const char wanted : name) {
    if (at >= key.size()) return false;
    if (lower(key[at]) == lower(wanted)) {
      ++at;
    } else if (lower(wanted) == 's' && key.compare(at, 2, "\u017F") == 0) {
      at += 2;
    } else if (lower(wanted) == 'k' && key.compare(at, 3, "\u212A") == 0) {
      at += 3;
    } else {
      return false;
    }
  }
  return at == key.size();
}

}  // namespace berth::extender
