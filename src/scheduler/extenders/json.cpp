#include "scheduler/extenders/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "scheduler/extenders/json_scanner.hpp"

namespace berth::extenders {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// The end of the string that begins at `at`; requires a validated text.
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
    const int digit = IsAsciiDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
    rune = rune * 16 + static_cast<char32_t>(digit);
  }
  return rune;
}

// The length of the UTF-8 sequence at the beginning of the text; 0 if it is invalid.
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

// Decodes the escape at the beginning of the text; returns its length.
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
  at_ = EndOfPart(begin);
  return text_.substr(begin, at_ - begin);
}

std::size_t Json::Cursor::EndOfPart(std::size_t begin) const {
  if (extents_ != nullptr && (text_[begin] == '{' || text_[begin] == '[')) {
    const auto offset = static_cast<std::size_t>(text_.data() - extents_->text);
    if (const std::size_t end = extents_->EndOf(offset + begin); end != 0) return end - offset;
  }
  return EndOfValue(text_, begin);
}

void Json::Cursor::SkipSpace() {
  while (IsSpace(text_[at_])) ++at_;
}

Expected<Json> FirstValue(std::string_view text, std::string_view cut_short) {
  auto extents = std::make_shared<Extents>();
  extents->text = text.data();
  auto value = ScanFirstValue(text, *extents);
  if (value) return Json(*value, std::move(extents));
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

}  // namespace berth::extenders
