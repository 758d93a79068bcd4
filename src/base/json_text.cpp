#include "base/json_text.hpp"

#include "base/append_format.hpp"
#include "base/utf8.hpp"

namespace berth {
namespace {

bool IsLineSeparator(std::string_view character) {
  return character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9";
}

template <bool kMarshal>
void Append(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;  // start of the current run of characters that need no escape
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    std::size_t size = 1;
    if (byte >= 0x80) {
      size = Utf8CharacterSize(text.substr(i));
      if (size != 0 && !(kMarshal && IsLineSeparator(text.substr(i, size)))) {
        i += size;
        continue;
      }
    } else if (byte >= 0x20 && c != '"' && c != '\\' && !(kMarshal && (c == '<' || c == '>' || c == '&'))) {
      ++i;
      continue;
    }
    out.append(text, plain, i - plain);
    constexpr std::string_view kShort = "\"\\\n\r\t\b\f";
    constexpr std::string_view kLetters = "\"\\nrtbf";
    if (size == 0) {
      out += "\\ufffd";
      size = 1;
    } else if (size > 1) {
      out += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
    } else if (const auto known = kShort.find(c); known != std::string_view::npos) {
      out += '\\';
      out += kLetters[known];
    } else {
      AppendFormat(out, "\\u{:04x}", byte);
    }
    i += size;
    plain = i;
  }
  out.append(text, plain);
  out += '"';
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) { Append<false>(out, text); }

void AppendGoJsonString(std::string& out, std::string_view text) { Append<true>(out, text); }

std::string GoJsonString(std::string_view text) {
  std::string out;
  AppendGoJsonString(out, text);
  return out;
}

void AppendJsonStrings(std::string& out, const std::vector<std::string>& texts) {
  AppendJsonList(out, texts, AppendJsonString);
}

}  // namespace berth
