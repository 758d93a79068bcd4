#include "tools/rebalance/round_metrics.hpp"

namespace berth::rebalance {

RoundMetrics::RoundMetrics(metrics::Registry& metrics)
    : metrics_(metrics),
      overloaded_(metrics.Gauge("berth_rebalance_overloaded_nodes",
                                "[ALPHA] Nodes above a threshold for the whole window, in the last round.")),
      stopped_(metrics.Gauge("berth_rebalance_stopped",
                             "[ALPHA] Whether the last round planned nothing because signals were missing or "
                             "the limit of moves per hour was reached.")),
      proposed_(metrics.Counter("berth_rebalance_moves_total", "[ALPHA] Planned moves of pods.")),
      seconds_(metrics.Histogram("berth_rebalance_round_seconds", "[ALPHA] Time in seconds to plan a round.",
                                 metrics::ExponentialBuckets(0.001, 4, 8))) {}

void RoundMetrics::Record(const Plan& plan, Duration took) {
  overloaded_.Set(static_cast<std::int64_t>(plan.overloaded.size()));
  stopped_.Set(plan.stopped.empty() ? 0 : 1);
  proposed_.Add(plan.moves.size());
  seconds_.Observe(std::chrono::duration<double>(took).count());
  for (std::size_t i = 0; i < kRejections; ++i) {
    if (plan.rejected_by_reason[i] == 0) continue;
    metrics_
        .Counter("berth_rebalance_rejected_total",
                 "[ALPHA] Pods of overloaded nodes that were considered and not moved, by reason.",
                 {{"reason", std::string(NameOf(static_cast<Rejection>(i)))}})
        .Add(plan.rejected_by_reason[i]);
  }
}

}  // namespace berth::rebalance
