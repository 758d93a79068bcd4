#include "base/text_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.hpp"

namespace berth {
namespace {

// Of one character of UTF-8.
std::size_t ColumnsOf(std::string_view character) {
  static constexpr std::pair<char32_t, char32_t> kWide[] = {
      {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},  {0xa960, 0xa97c}, {0xac00, 0xd7a3},
      {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
      {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  static constexpr std::pair<char32_t, char32_t> kCombining[] = {
      {0x300, 0x36f}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
  if (character.size() == 1) return 1;
  char32_t code = static_cast<unsigned char>(character[0]) & (0xffu >> (character.size() + 1));
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3f);
  const auto has = [&](const auto& ranges) {
    return std::ranges::any_of(
        ranges, [&](const auto& range) { return code >= range.first && code <= range.second; });
  };
  return has(kCombining) ? 0 : has(kWide) ? 2 : 1;
}

// On a terminal. Bytes that are not UTF-8 take one column each.
std::size_t WidthOf(std::string_view text) {
  if (IsAscii(text)) return text.size();
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t size = std::max<std::size_t>(Utf8CharacterSize(text), 1);
    width += ColumnsOf(text.substr(0, size));
    text.remove_prefix(size);
  }
  return width;
}

}  // namespace

void AppendWrapped(std::string& text, std::string_view words, std::size_t indent, std::size_t width) {
  std::size_t column = indent;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::size_t word = WidthOf(words.substr(0, end));
    if (column > indent && column + 1 + word > width) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      text += ' ';
      ++column;
    }
    text += words.substr(0, end);
    column += word;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

std::string WithCommas(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string Counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", WithCommas(count), noun, count == 1 ? "" : "s");
}

std::string TextTable(const std::vector<TableRow>& rows, const TableStyle& style) {
  std::vector<std::size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(row[i]));
  }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line(style.indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line.append(style.gap, ' ');
      const std::string padding(widths[i] - WidthOf(row[i]), ' ');
      line += i > 0 && style.right_aligned ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace berth
