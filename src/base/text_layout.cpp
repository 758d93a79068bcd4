#include "base/text_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth {

void AppendWrapped(std::string& text, std::string_view words, std::size_t indent, std::size_t width) {
  std::size_t column = indent;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (column > indent && column + 1 + end > width) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      text += ' ';
      ++column;
    }
    text += words.substr(0, end);
    column += end;
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
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line(style.indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line.append(style.gap, ' ');
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += i > 0 && style.right_aligned ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace berth
