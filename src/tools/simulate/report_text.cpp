#include <fmt/format.h>

#include <algorithm>

#include "tools/simulate/report.hpp"
#include "tools/simulate/report_rows.hpp"

namespace berth::simulate {
namespace {

constexpr std::size_t kMostKinds = 15;

// The first column is aligned to the left, the others to the right.
void AppendTable(std::string& text, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line = fmt::format("  {:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) line += fmt::format("  {:>{}}", row[i], widths[i]);
    while (line.ends_with(' ')) line.pop_back();
    text += line + "\n";
  }
}

}  // namespace

std::string ReportText(const ReportHead& head, std::span<const Result> results) {
  std::string text = fmt::format("Workload {}: {} of virtual time, seed {}\n", head.workload,
                                 ShowDuration(head.duration), head.seed);
  for (const Result& result : results) {
    if (!result.complete)
      text +=
          fmt::format("Interrupted: {} ends at {}\n", result.configuration, ShowDuration(result.simulated));
  }
  std::vector<std::vector<std::string>> rows;
  for (const SummarySection& section : Summarize(results)) {
    rows.push_back({section.title});
    rows.back().resize(results.size() + 1);
    for (const SummaryRow& row : section.rows) {
      rows.push_back({"  " + row.label});
      rows.back().insert(rows.back().end(), row.values.begin(), row.values.end());
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) rows[0][i + 1] = results[i].configuration;
  text += "\n";
  AppendTable(text, rows);
  for (const Result& result : results) {
    text += fmt::format("\nPods by kind, {}\n", result.configuration);
    rows = KindRows(result, kMostKinds);
    rows.insert(rows.begin(), KindColumns());
    AppendTable(text, rows);
    if (result.kinds.size() > kMostKinds)
      text += fmt::format("  {} more kinds are in the JSON form\n", result.kinds.size() - kMostKinds);
    const auto pending = PendingLines(result, kMostKinds);
    if (!pending.empty()) text += fmt::format("\nWaiting at the end, {}\n", result.configuration);
    for (const std::string& line : pending) text += "  " + line + "\n";
  }
  return text;
}

}  // namespace berth::simulate
