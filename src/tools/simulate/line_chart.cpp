#include "tools/simulate/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/simulate/report.hpp"

namespace berth::simulate {
namespace {

constexpr double kWidth = 560, kHeight = 220;
constexpr double kLeft = 58, kRight = 12, kTop = 12, kBottom = 26;
constexpr int kTicks = 4;

// The next of 1, 2, 2.5, 5, 10 times a power of ten.
double NiceCeiling(double value) {
  if (value <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (value <= factor * power * 1.0000001) return factor * power;
  }
  return 10 * power;
}

std::string ShowValue(double value, bool share) {
  if (share) return fmt::format("{:.3g}%", value * 100);
  if (value >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

std::string ShowTime(double seconds) {
  return ShowDuration(Duration(static_cast<std::int64_t>(seconds * 1e9)));
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string ChartSvg(const LineChart& chart) {
  double last = 0, most = chart.share ? 1 : 0;
  for (const ChartLine& line : chart.lines) {
    for (const auto& [seconds, value] : line.points) {
      last = std::max(last, seconds);
      most = std::max(most, value);
    }
  }
  last = std::max(last, 1e-9);
  most = NiceCeiling(most);
  const auto x = [&](double seconds) { return kLeft + (kWidth - kLeft - kRight) * seconds / last; };
  const auto y = [&](double value) { return kHeight - kBottom - (kHeight - kTop - kBottom) * value / most; };
  std::string svg = fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)", kWidth, kHeight,
                                EscapeHtml(chart.title));
  for (int i = 0; i <= kTicks; ++i) {
    const double value = most * i / kTicks, seconds = last * i / kTicks;
    svg += fmt::format(R"(<path class="grid" d="M{} {:.1f}H{}"/>)", kLeft, y(value), kWidth - kRight);
    svg += fmt::format(R"(<text class="axis" x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 6,
                       y(value) + 4, ShowValue(value, chart.share));
    svg += fmt::format(R"(<text class="axis" x="{:.1f}" y="{}" text-anchor="{}">{}</text>)", x(seconds),
                       kHeight - 8,
                       i == 0        ? "start"
                       : i == kTicks ? "end"
                                     : "middle",
                       ShowTime(seconds));
  }
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const ChartLine& line = chart.lines[i];
    if (line.points.empty()) continue;
    std::string path;
    for (const auto& [seconds, value] : line.points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(seconds), y(value));
    svg += fmt::format(R"(<path class="line line{}" d="{}"><title>{}: {} at the end</title></path>)", i % 6,
                       path, EscapeHtml(line.label), ShowValue(line.points.back().second, chart.share));
  }
  return svg + "</svg>";
}

}  // namespace berth::simulate
