// The rows of the summary, which the text and the page share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/simulate/report.hpp"

namespace berth::simulate {

struct SummaryRow {
  std::string label;
  std::vector<std::string> values;  // one per result
};
struct SummarySection {
  std::string title;
  std::vector<SummaryRow> rows;
};
std::vector<SummarySection> Summarize(std::span<const Result> results);

// The columns of the table of pods.
const std::vector<std::string>& KindColumns();
// One line of that table for each kind, those with the most pods first; at most `most`.
std::vector<std::vector<std::string>> KindRows(const Result& result, std::size_t most);

// Kinds with pods that wait at the end, those with the most first: "3 of web: 0/5 nodes are available: ...".
std::vector<std::string> PendingLines(const Result& result, std::size_t most);

}  // namespace berth::simulate
