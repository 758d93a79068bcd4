#include "plugins/measured/prometheus_args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/go_duration.hpp"

namespace berth::plugins {
namespace {

// Scrapes are hardly ever more than a minute apart; twice that, and the exporter or its server is gone.
constexpr double kOldestSampleSeconds = 120;
constexpr double kLeastCoverage = 0.8;

}  // namespace

void ReadDuration(config::StructReader& reader, std::string_view name, Duration& out,
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

void CheckPositive(Duration duration, const std::string& path, std::vector<std::string>& errors) {
  if (duration <= Duration{}) {
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
  // A name is one word; what looks like an address without a scheme is no name.
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

std::vector<framework::SignalGuard> GuardsOf(std::string_view signal, std::string_view metric,
                                             std::string_view window) {
  return {{.name = fmt::format("{}: age of samples", signal),
           .expression = fmt::format("time() - max by ($node) (timestamp({}))", metric),
           .at_most = kOldestSampleSeconds},
          {.name = fmt::format("{}: samples in the window", signal),
           .expression = fmt::format("max by ($node) (count_over_time({}[{}]))", metric, window),
           .at_least_of_median = kLeastCoverage}};
}

}  // namespace berth::plugins
