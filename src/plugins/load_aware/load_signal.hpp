// One signal as LoadAware counts it: measured, expected, too high.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/row_set.hpp"
#include "framework/measurements.hpp"
#include "plugins/load_aware/load_aware_args.hpp"
#include "plugins/measured/newcomers.hpp"
#include "plugins/measured/workload_use.hpp"

namespace berth::plugins {

// What is expected of a node is what was measured there, as a percentage of what the node has, and what pods
// add that the measurement does not show yet. One thread: the loop's.
class LoadSignal {
 public:
  LoadSignal(const LoadSignalArgs& args, const LoadAwareArgs& plugin, framework::Handle& handle);

  const LoadSignalArgs& args() const { return args_; }
  framework::SignalState state() const { return measurements_.signal(signal_).state; }
  // Is anything known of any node?
  bool usable() const;

  // Percent; NaN where nothing is known of the node.
  double Expected(framework::Row row) const {
    return measurements_.signal(signal_).At(row) * scale_ + PercentOf(newcomers_.At(row), row);
  }
  // The same for the score, where a node of which nothing is known counts as the median.
  double ExpectedOrMedian(framework::Row row) const;
  // What the pod itself will add, in pods or in the resource's unit; for PercentOf.
  double EstimateOf(const framework::PodInfo& pod) const { return EstimateOf(*pod.pod, pod.use); }
  // What an estimate comes to on that node.
  double PercentOf(double estimate, framework::Row row) const;
  // From 0 to 100, the best.
  double ScoreOf(double percent) const;
  // Rows that were beyond the threshold at the last measurement, or came not far enough below it since.
  const RowSet& hot() const { return hot_; }

  // Called when a row has cooled down.
  void OnRelief(std::function<void()> told) { relief_ = std::move(told); }

 private:
  double EstimateOf(const api::Pod& pod, const framework::PodUse& use) const;
  // In the resource's unit; 0: it is not known.
  double AmountUsed(const api::Pod& pod) const;
  void Measured();
  bool FindHot();

  const LoadSignalArgs args_;
  const double hysteresis_;
  const framework::NodeTable& nodes_;
  framework::Measurements& measurements_;
  const framework::SignalId signal_;
  const framework::ResourceId resource_;        // of the estimate; unknown: pods are counted
  const std::unique_ptr<WorkloadUse> history_;  // null: estimates are not learned
  Newcomers newcomers_;
  const double scale_;  // from values to percent
  double median_ = framework::kNoValue;
  RowSet hot_;
  std::function<void()> relief_;
};

}  // namespace berth::plugins
