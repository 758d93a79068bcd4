// What the plugins that look at measurements have in common in their arguments and questions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/value.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::plugins {

// "5m", as Go writes durations.
void ReadDuration(config::StructReader& reader, std::string_view name, Duration& out,
                  config::Problems& problems);
// For a PromQL expression, which knows no fractions: "5m0s", "1500ms".
std::string PromQlDuration(Duration duration);
void CheckPositive(Duration duration, const std::string& path, std::vector<std::string>& errors);
// A URL, or the name of a metric source.
void CheckSource(const std::string& source, const std::string& path, std::vector<std::string>& errors);

// When a signal over `window` that is made of `metric` can be believed: the node was scraped lately, and
// through most of the window. A dead exporter's rates fade to nothing and a young node's are too small; both
// would look idle.
std::vector<load_metrics::SignalGuard> GuardsOf(std::string_view signal, std::string_view metric,
                                             std::string_view window);

// The share of time in which a node's processors were not idle, 0 to 1.
std::string BusyShareOf(std::string_view window);
// They are scraped together: one stands for the node.
inline constexpr std::string_view kOneProcessor = R"(node_cpu_seconds_total{mode="idle",cpu="0"})";

}  // namespace berth::plugins
