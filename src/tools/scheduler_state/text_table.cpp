#include "tools/scheduler_state/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::scheduler_state {

std::string TextTable(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      text += last ? row[i] + "\n" : fmt::format("{:<{}}   ", row[i], widths[i]);
    }
  }
  return text;
}

std::string AgeText(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (seconds >= 2 * kDay) return fmt::format("{}d", seconds / kDay);
  if (seconds >= 2 * kHour) return fmt::format("{}h", seconds / kHour);
  if (seconds >= 2 * kMinute) return fmt::format("{}m", seconds / kMinute);
  return fmt::format("{}s", std::max<std::int64_t>(0, seconds));
}

}  // namespace berth::scheduler_state
