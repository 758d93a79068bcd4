#include "scheduler/load_metrics/poller_metrics.hpp"

#include <vector>

namespace berth::load_metrics {
namespace {

constexpr std::string_view kPolls = "berth_measurement_polls_total";
constexpr std::string_view kPollsHelp =
    "[ALPHA] Queries to metric sources by result: success, error (the source failed), refused (the source "
    "rejected the query).";
constexpr std::string_view kNodes = "berth_measurement_nodes";
constexpr std::string_view kNodesHelp =
    "[ALPHA] Nodes by state of their value: measured, distrusted (suppressed by a guard), missing.";

std::vector<double> Seconds() { return metrics::ExponentialBuckets(0.001, 2, 15); }

}  // namespace

SourceMetrics::SourceMetrics(metrics::Registry& registry, const std::string& source)
    : answered(registry.Counter(kPolls, kPollsHelp, {{"source", source}, {"result", "success"}})),
      failed(registry.Counter(kPolls, kPollsHelp, {{"source", source}, {"result", "error"}})),
      refused(registry.Counter(kPolls, kPollsHelp, {{"source", source}, {"result", "refused"}})),
      partial(registry.Counter("berth_measurement_warnings_total",
                               "[ALPHA] Responses of metric sources with warnings, which may be partial.",
                               {{"source", source}})),
      duration(registry.Histogram("berth_measurement_poll_duration_seconds",
                                  "[ALPHA] Time from a query to a metric source until its complete response.",
                                  Seconds(), {{"source", source}})),
      up(registry.Gauge("berth_measurement_source_up",
                        "[ALPHA] Whether all queries of the last poll succeeded.", {{"source", source}})) {}

SignalMetrics::SignalMetrics(metrics::Registry& registry, const std::string& source,
                             const std::string& signal)
    : measured(registry.Gauge(kNodes, kNodesHelp,
                              {{"source", source}, {"signal", signal}, {"state", "measured"}})),
      distrusted(registry.Gauge(kNodes, kNodesHelp,
                                {{"source", source}, {"signal", signal}, {"state", "distrusted"}})),
      missing(
          registry.Gauge(kNodes, kNodesHelp, {{"source", source}, {"signal", signal}, {"state", "missing"}})),
      unmatched(registry.Gauge("berth_measurement_unmatched_series",
                               "[ALPHA] Series of the last result that match no node.",
                               {{"source", source}, {"signal", signal}})),
      usable(registry.Gauge(
          "berth_measurement_signal_usable",
          "[ALPHA] Whether the signal's values are used: 0 before the first result and after an "
          "outage longer than its hold time.",
          {{"source", source}, {"signal", signal}})) {}

void SignalMetrics::Show(const SignalCoverage& coverage) {
  usable.Set(HasValues(coverage.after));
  if (coverage.after == SignalState::kGone) {
    measured.Set(0);
    distrusted.Set(0);
    missing.Set(static_cast<std::int64_t>(coverage.nodes));
  }
  if (coverage.after != SignalState::kFresh) return;
  measured.Set(static_cast<std::int64_t>(coverage.measured));
  distrusted.Set(static_cast<std::int64_t>(coverage.distrusted));
  missing.Set(static_cast<std::int64_t>(coverage.nodes - coverage.measured - coverage.distrusted));
  unmatched.Set(static_cast<std::int64_t>(coverage.unmatched_series));
}

}  // namespace berth::load_metrics
