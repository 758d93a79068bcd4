// Text layout for terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Appends words separated by single spaces to a text whose last line is `indent` columns wide. Further lines
// have up to `width` columns and are indented by `indent`. Words are never split. The last line has no
// newline.
void AppendWrapped(std::string& text, std::string_view words, std::size_t indent, std::size_t width);

// "12,345"
std::string WithCommas(std::size_t number);

// "1 pod", "1,234 pods"
std::string Counted(std::size_t count, std::string_view noun);

using TableRow = std::vector<std::string>;
struct TableStyle {
  std::size_t indent = 0;
  std::size_t gap = 3;         // spaces between columns
  bool right_aligned = false;  // the columns after the first one
};
// One line per row, with the columns below each other and no spaces at the ends of lines. Rows may have
// different numbers of cells.
std::string TextTable(const std::vector<TableRow>& rows, const TableStyle& style = {});

}  // namespace berth
