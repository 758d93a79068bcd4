// Metrics of the poller: berth_measurement_*.
#pragma once

#include <string>

#include "observability/metrics/registry.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::load_metrics {

struct SourceMetrics {
  SourceMetrics(metrics::Registry& registry, const std::string& source);
  metrics::Counter& answered;
  metrics::Counter& failed;
  metrics::Counter& refused;
  metrics::Counter& partial;
  metrics::Histogram& duration;
  metrics::Gauge& up;
};

// Cells may be set from any thread.
struct SignalMetrics {
  SignalMetrics(metrics::Registry& registry, const std::string& source, const std::string& signal);
  void Show(const SignalCoverage& coverage);

  metrics::Gauge& measured;
  metrics::Gauge& distrusted;
  metrics::Gauge& missing;
  metrics::Gauge& unmatched;
  metrics::Gauge& usable;
};

}  // namespace berth::load_metrics
