#include <fmt/format.h>

#include <algorithm>

#include "base/text_layout.hpp"
#include "tools/simulate/report.hpp"
#include "tools/simulate/report_rows.hpp"

namespace berth::simulate {
namespace {

constexpr std::size_t kMostKinds = 15;

const TableStyle kTableStyle{.indent = 2, .gap = 2, .right_aligned = true};

}  // namespace

std::vector<std::string> ConfigNames(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files)
    names.push_back(file.empty() ? "default" : file.substr(file.rfind('/') + 1));
  const std::vector<std::string> last_parts = names;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i].empty() && std::ranges::count(last_parts, last_parts[i]) > 1) names[i] = files[i];
  }
  return names;
}

std::string ReportText(const ReportHead& head, std::span<const Result> results) {
  std::string text = fmt::format("Workload {}: {} of virtual time, seed {}\n", head.workload,
                                 ShowDuration(head.duration), head.seed);
  for (const Result& result : results) {
    if (!result.complete)
      text +=
          fmt::format("Interrupted: {} ends at {}\n", result.configuration, ShowDuration(result.simulated));
  }
  std::vector<TableRow> rows;
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
  text += TextTable(rows, kTableStyle);
  for (const Result& result : results) {
    text += fmt::format("\nPods by kind, {}\n", result.configuration);
    rows = KindRows(result, kMostKinds);
    rows.insert(rows.begin(), KindColumns());
    text += TextTable(rows, kTableStyle);
    if (result.kinds.size() > kMostKinds)
      text += fmt::format("  {} more kinds are in the JSON form\n", result.kinds.size() - kMostKinds);
    const auto pending = PendingLines(result, kMostKinds);
    if (!pending.empty()) text += fmt::format("\nWaiting at the end, {}\n", result.configuration);
    for (const std::string& line : pending) text += "  " + line + "\n";
  }
  return text;
}

}  // namespace berth::simulate
