// Answers of a server that measures, for tests of plugins that look at them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scheduler/load_metrics/signal_table.hpp"
#include "testing/cluster.hpp"

namespace berth::testing {

// A signal by its name, or by the beginning of it; guards are signals too. Throws if there is none.
load_metrics::SignalId FindSignal(load_metrics::SignalTable& measurements, const std::string& name);

// An answer to the signal: node and value. Answers do not build on each other.
void Measure(Cluster& cluster, const std::string& signal,
             const std::vector<std::pair<std::string, double>>& nodes,
             MonoTime asked = MonoTime(std::chrono::hours(1)));

}  // namespace berth::testing
