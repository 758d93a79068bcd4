// What operators see of the measuring: berth_measurement_*.
#pragma once

#include <string>

#include "framework/measurements.hpp"
#include "metrics/registry.hpp"

namespace berth::metricsource {

struct SourceMeters {
  SourceMeters(metrics::Registry& registry, const std::string& source);
  metrics::Counter& answered;
  metrics::Counter& failed;
  metrics::Counter& refused;
  metrics::Counter& partial;
  metrics::Histogram& duration;
  metrics::Gauge& up;
};

// Cells may be set from any thread.
struct SignalMeters {
  SignalMeters(metrics::Registry& registry, const std::string& source, const std::string& signal);
  void Show(const framework::SignalCoverage& coverage);

  metrics::Gauge& measured;
  metrics::Gauge& distrusted;
  metrics::Gauge& missing;
  metrics::Gauge& unmatched;
  metrics::Gauge& usable;
};

}  // namespace berth::metricsource
