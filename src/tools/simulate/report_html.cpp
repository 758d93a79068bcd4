#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tools/simulate/line_chart.hpp"
#include "tools/simulate/report.hpp"
#include "tools/simulate/report_rows.hpp"

namespace berth::simulate {
namespace {

constexpr std::size_t kMostRows = 50;

constexpr std::string_view kStyle =
    R"(:root{color-scheme:light dark;--bg:#fff;--fg:#1c2024;--dim:#60646c;--rule:#d9dce1;
--c0:#1f6feb;--c1:#c2410c;--c2:#15803d;--c3:#9333ea;--c4:#b91c5c;--c5:#0e7490}
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e8eb;--dim:#9ba1a9;--rule:#33383f;
--c0:#6cb0ff;--c1:#ff9a62;--c2:#62d58a;--c3:#c79bff;--c4:#ff86b6;--c5:#5fd3ea}}
body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:0 auto;padding:24px}
h1{font-size:24px}h2{font-size:18px;margin:32px 0 8px}h3{font-size:14px;margin:0 0 4px;font-weight:600}
p{margin:4px 0;color:var(--dim)}ul{padding-left:20px;color:var(--fg)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:3px 14px 3px 0;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th:first-child,td:first-child{text-align:left}tr.section td{font-weight:600;padding-top:12px}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(340px,1fr));gap:24px}figure{margin:0}
svg{width:100%;height:auto}.grid{stroke:var(--rule);fill:none}.axis{fill:var(--dim);font-size:11px}
.line{fill:none;stroke-width:1.6}.legend span{margin-right:16px}.legend i{display:inline-block;width:18px;height:3px;
margin-right:6px;vertical-align:middle}
.line0{stroke:var(--c0)}.line1{stroke:var(--c1)}.line2{stroke:var(--c2)}.line3{stroke:var(--c3)}
.line4{stroke:var(--c4)}.line5{stroke:var(--c5)}
.key0{background:var(--c0)}.key1{background:var(--c1)}.key2{background:var(--c2)}.key3{background:var(--c3)}
.key4{background:var(--c4)}.key5{background:var(--c5)})";

using Row = std::vector<std::string>;

void AppendRow(std::string& html, const Row& cells, std::string_view tag, std::string_view css = {}) {
  html += css.empty() ? "<tr>" : fmt::format(R"(<tr class="{}">)", css);
  for (const std::string& cell : cells) html += fmt::format("<{0}>{1}</{0}>", tag, EscapeHtml(cell));
  html += "</tr>\n";
}

void AppendSummary(std::string& html, std::span<const Result> results) {
  html += "<h2>Summary</h2>\n<div class=\"wide\"><table>\n";
  Row head{""};
  for (const Result& result : results) head.push_back(result.configuration);
  AppendRow(html, head, "th");
  for (const SummarySection& section : Summarize(results)) {
    Row title{section.title};
    title.resize(results.size() + 1);
    AppendRow(html, title, "td", "section");
    for (const SummaryRow& row : section.rows) {
      Row cells{row.label};
      cells.insert(cells.end(), row.values.begin(), row.values.end());
      AppendRow(html, cells, "td");
    }
  }
  html += "</table></div>\n";
}

void AppendChart(std::string& html, std::string title, bool share, std::span<const Result> results,
                 const std::function<double(const Sample&)>& value) {
  LineChart chart{.title = std::move(title), .share = share, .lines = {}};
  for (const Result& result : results) {
    ChartLine& line = chart.lines.emplace_back();
    line.label = result.configuration;
    for (const Sample& sample : result.samples)
      line.points.emplace_back(std::chrono::duration<double>(sample.at).count(), value(sample));
  }
  html += fmt::format("<figure><h3>{}</h3>{}</figure>\n", EscapeHtml(chart.title), ChartSvg(chart));
}

void AppendCharts(std::string& html, std::span<const Result> results) {
  html += "<h2>Over time</h2>\n<p class=\"legend\">";
  for (std::size_t i = 0; i < results.size(); ++i)
    html +=
        fmt::format(R"(<span><i class="key{}"></i>{}</span>)", i % 6, EscapeHtml(results[i].configuration));
  html += "</p>\n<div class=\"charts\">\n";
  const auto count = [](std::uint64_t Sample::* member) {
    return [member](const Sample& sample) { return static_cast<double>(sample.*member); };
  };
  AppendChart(html, "Running pods", false, results, count(&Sample::running));
  AppendChart(html, "Unschedulable pods", false, results, count(&Sample::unschedulable));
  AppendChart(html, "Pods in activeQ and in back-off", false, results,
              [](const Sample& sample) { return static_cast<double>(sample.active + sample.backoff); });
  if (std::ranges::any_of(results, [](const Result& result) { return result.groups.any; }))
    AppendChart(html, "Groups that have not started", false, results, count(&Sample::waiting_groups));
  for (std::size_t i = 0; i < results.front().resources.size(); ++i) {
    const std::string& name = results.front().resources[i];
    AppendChart(html, fmt::format("{}: requested share", name), true, results,
                [i](const Sample& sample) { return sample.used[i]; });
    AppendChart(html, fmt::format("{}: fragmented share of what is free", name), true, results,
                [i](const Sample& sample) { return sample.fragmented[i]; });
  }
  AppendChart(html, "Ready nodes", false, results, count(&Sample::nodes));
  AppendChart(html, "Hot nodes (at least 90 % of their CPU requested)", true, results,
              [](const Sample& sample) { return sample.hot_nodes; });
  AppendChart(html, "Imbalance: standard deviation of the CPU share requested", true, results,
              [](const Sample& sample) { return sample.imbalance; });
  html += "</div>\n";
}

void AppendKinds(std::string& html, const Result& result) {
  html += fmt::format("<h2>Pods by kind, {}</h2>\n<div class=\"wide\"><table>\n",
                      EscapeHtml(result.configuration));
  AppendRow(html, KindColumns(), "th");
  for (const Row& row : KindRows(result, kMostRows)) AppendRow(html, row, "td");
  html += "</table></div>\n";
  const auto pending = PendingLines(result, kMostRows);
  if (pending.empty()) return;
  html += "<p>Waiting at the end:</p>\n<ul>\n";
  for (const std::string& line : pending) html += fmt::format("<li>{}</li>\n", EscapeHtml(line));
  html += "</ul>\n";
}

}  // namespace

std::string ReportHtml(const ReportHead& head, std::span<const Result> results) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>Simulation of {0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>Simulation of {0}</h1>\n"
      "<p>{2} of virtual time, seed {3}</p>\n",
      EscapeHtml(head.workload), kStyle, ShowDuration(head.duration), head.seed);
  for (const Result& result : results) {
    if (!result.complete)
      html += fmt::format("<p>Interrupted: {} ends at {}</p>\n", EscapeHtml(result.configuration),
                          ShowDuration(result.simulated));
  }
  AppendSummary(html, results);
  AppendCharts(html, results);
  for (const Result& result : results) AppendKinds(html, result);
  return html + "</body>\n</html>\n";
}

}  // namespace berth::simulate
