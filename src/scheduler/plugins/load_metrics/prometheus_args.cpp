#include "scheduler/plugins/load_metrics/prometheus_args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/go_duration.hpp"
#include "base/redact.hpp"

namespace berth::plugins {
namespace {

// Scrape intervals are rarely above one minute; after twice that time the exporter or its server is down.
constexpr double kOldestSampleSeconds = 120;
constexpr double kLeastCoverage = 0.8;

}  // namespace

void ReadGoDuration(config::StructReader& reader, std::string_view name, Duration& out,
                    config::Problems& problems) {
  std::string text;
  reader.Read(name, text, "duration");
  if (text.empty()) return;
  if (const auto duration = ParseGoDuration(text)) {
    out = *duration;
  } else {
    problems.Other(fmt::format("{}: Invalid value: \"{}\": expected a duration such as 5m or 1m30s",
                               reader.PathOf(name), text));
  }
}

std::string PromQlDuration(Duration duration) {
  if (duration % std::chrono::seconds(1) == Duration{}) return FormatGoDuration(duration);
  return fmt::format("{}ms", std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

void CheckPositive(Duration duration, const std::string& path, std::vector<std::string>& errors) {
  if (duration < std::chrono::milliseconds(1)) {
    errors.push_back(fmt::format("{}: Invalid value: \"{}\": must be greater than zero", path,
                                 FormatGoDuration(duration)));
  }
}

void CheckSource(const std::string& source, const std::string& path, std::vector<std::string>& errors) {
  if (source.empty()) {
    errors.push_back(path +
                     ": Required value: must be the URL of a Prometheus server, like "
                     "http://prometheus-server.monitoring:9090");
    return;
  }
  if (const std::string redacted = RedactUrl(source); redacted != source) {
    errors.push_back(fmt::format(
        "{}: Invalid value: \"{}\": must not contain a password; describe the source with basicAuth in "
        "--berth-metric-sources, and give its name here",
        path, redacted));
    return;
  }
  // Names consist of these characters only; an address without a scheme is not a name.
  const bool url = source.starts_with("http://") || source.starts_with("https://");
  const bool name =
      std::ranges::all_of(source, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
  if (!url && !name) {
    errors.push_back(
        fmt::format("{}: Invalid value: \"{}\": must begin with http:// or https://, or be the name "
                    "of a source in --berth-metric-sources",
                    path, source));
  }
}

std::vector<load_metrics::SignalGuard> GuardsOf(std::string_view signal, std::string_view metric,
                                                std::string_view window) {
  return {{.name = fmt::format("{}: age of samples", signal),
           .expression = fmt::format("time() - max by ($node) (timestamp({}))", metric),
           .at_most = kOldestSampleSeconds},
          {.name = fmt::format("{}: samples in the window", signal),
           .expression = fmt::format("max by ($node) (count_over_time({}[{}]))", metric, window),
           .at_least_of_median = kLeastCoverage}};
}

// A rate over an incomplete window is too small, so 1 - idle would be too large. The total time of one CPU in
// all modes is too small by the same factor and corrects it; it costs a fraction of a query for all modes of
// all CPUs.
std::string BusyShareOf(std::string_view window) {
  return fmt::format(R"(1 - avg by ($node) (rate(node_cpu_seconds_total{{mode="idle"}}[{0}])) / )"
                     R"(sum by ($node) (max by ($node,mode) (rate(node_cpu_seconds_total{{cpu="0"}}[{0}]))))",
                     window);
}

}  // namespace berth::plugins
