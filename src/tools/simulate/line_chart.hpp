// A line chart over time as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace berth::simulate {

struct ChartLine {
  std::string label;
  std::vector<std::pair<double, double>> points;  // seconds, value; ascending seconds
};

struct LineChart {
  std::string title;
  bool share = false;  // values are shares: the axis ends at 100 % at least
  std::vector<ChartLine> lines;
};

// Colours are the CSS classes line0, line1, ...; texts are escaped. Each line has its values at the ends as a
// tooltip.
std::string ChartSvg(const LineChart& chart);

std::string EscapeHtml(std::string_view text);

}  // namespace berth::simulate
