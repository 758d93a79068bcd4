// Metrics of planning.
#pragma once

#include "base/clock.hpp"
#include "observability/metrics/registry.hpp"
#include "tools/rebalance/plan.hpp"

namespace berth::rebalance {

class RoundMetrics {
 public:
  explicit RoundMetrics(metrics::Registry& metrics);
  void Record(const Plan& plan, Duration took);

 private:
  metrics::Registry& metrics_;
  metrics::Gauge& overloaded_;
  metrics::Gauge& stopped_;
  metrics::Counter& proposed_;
  metrics::Histogram& seconds_;
};

}  // namespace berth::rebalance
