// SignalTable for tests of load-aware plugins.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scheduler/load_metrics/signal_table.hpp"
#include "testing/cluster.hpp"

namespace berth::testing {

// Finds a signal by its name or a prefix of it; guards are signals, too. Throws if there is none.
load_metrics::SignalId FindSignal(load_metrics::SignalTable& measurements, const std::string& name);

// Sets the measurement of the signal: node and value. Replaces all earlier values of the signal.
void Measure(Cluster& cluster, const std::string& signal,
             const std::vector<std::pair<std::string, double>>& nodes,
             MonoTime polled_at = MonoTime(std::chrono::hours(1)));

}  // namespace berth::testing
