// Arguments and queries common to the plugins that use load metrics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/value.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::plugins {

// Reads a duration in Go's notation, for example "5m".
void ReadGoDuration(config::StructReader& reader, std::string_view name, Duration& out,
                    config::Problems& problems);
// A duration in PromQL, which has no fractions: "5m0s", "1500ms".
std::string PromQlDuration(Duration duration);
void CheckPositive(Duration duration, const std::string& path, std::vector<std::string>& errors);
// Checks for a URL or the name of a metric source.
void CheckSource(const std::string& source, const std::string& path, std::vector<std::string>& errors);

// Guards for a signal over `window` that is computed from `metric`: the node was scraped recently and for
// most of the window. The rates of a dead exporter decay to zero and those of a new node are too small; both
// nodes would appear idle.
std::vector<load_metrics::SignalGuard> GuardsOf(std::string_view signal, std::string_view metric,
                                                std::string_view window);

// The query for the fraction of time in which a node's CPUs were not idle, 0 to 1.
std::string BusyShareOf(std::string_view window);
// All CPUs are scraped together, so one of them represents the node.
inline constexpr std::string_view kOneProcessor = R"(node_cpu_seconds_total{mode="idle",cpu="0"})";

}  // namespace berth::plugins
