// What the plugins that look at measurements have in common in their arguments and questions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/value.hpp"
#include "framework/measurements.hpp"

namespace berth::plugins {

// "5m", as Go writes durations.
void ReadDuration(config::StructReader& reader, std::string_view name, Duration& out,
                  config::Problems& problems);
void CheckPositive(Duration duration, const std::string& path, std::vector<std::string>& errors);
// A URL, or the name of a metric source.
void CheckSource(const std::string& source, const std::string& path, std::vector<std::string>& errors);

// When a signal over `window` that is made of `metric` can be believed: the node was scraped lately, and
// through most of the window. A dead exporter's rates fade to nothing and a young node's are too small; both
// would look idle.
std::vector<framework::SignalGuard> GuardsOf(std::string_view signal, std::string_view metric,
                                             std::string_view window);

}  // namespace berth::plugins
