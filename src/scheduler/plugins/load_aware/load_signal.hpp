// One signal as LoadAware counts it: measured, expected, too high.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/row_set.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/plugins/load_aware/load_aware_args.hpp"
#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"
#include "scheduler/plugins/load_metrics/workload_usage.hpp"

namespace berth::plugins {

// What is expected of a node is what was measured there, as a percentage of what the node has, and what pods
// add that the measurement does not show yet. One thread: the loop's.
class LoadSignal {
 public:
  LoadSignal(const LoadSignalArgs& args, const LoadAwareArgs& plugin, framework::Handle& handle);

  const LoadSignalArgs& args() const { return args_; }
  load_metrics::SignalState state() const { return measurements_.signal(signal_).state; }
  // Is anything known of any node?
  bool usable() const;

  // Percent; NaN where nothing is known of the node.
  double Expected(cluster::Row row) const {
    return measurements_.signal(signal_).At(row) * scale_ + PercentOf(unmeasured_pods.At(row), row);
  }
  // From 0 to 100, the best. A node of which nothing is known counts as the median.
  double Score(cluster::Row row) const { return row < scores_.size() ? scores_[row] : 0; }

  // What the pod will add, in pods or in the resource's unit.
  double EstimateOf(const cluster::PodInfo& pod) const { return EstimateOf(*pod.pod, pod.use()); }
  // Those of `candidates` that are beyond the threshold, or would be with a pod of that estimate, or were hot
  // and are not yet well below it. Looks only at rows near those that the pod is too much for.
  void AddTooHigh(double estimate, const RowSet& candidates, RowSet& out) const;
  // Rows of which nothing is known.
  const RowSet& unknown() const { return unknown_; }

  // Called when a row has cooled down.
  void OnRelief(std::function<void()> told) { relief_ = std::move(told); }
  // Called when Score says something else of the row, or of all rows (nothing).
  void OnChange(std::function<void(std::optional<cluster::Row>)> told) { changed_ = std::move(told); }

 private:
  double EstimateOf(const api::Pod& pod, const cluster::PodUse& use) const;
  // In the resource's unit; 0: it is not known.
  double AmountUsed(const api::Pod& pod) const;
  // What an estimate comes to on that node.
  double PercentOf(double estimate, cluster::Row row) const;
  double ScoreOf(double percent) const;
  // How large the estimate of a pod may be that the node still takes.
  double RoomFor(double expected, cluster::Row row) const;
  void Measured();
  bool FindHot();
  void Refresh(cluster::Row row);
  void SetRoom(cluster::Row row, double room);

  const LoadSignalArgs args_;
  const double hysteresis_;
  const cluster::NodeTable& nodes_;
  load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId signal_;
  const cluster::ResourceId resource_;        // of the estimate; unknown: pods are counted
  const std::unique_ptr<WorkloadUsage> history_;  // null: estimates are not learned
  UnmeasuredPods unmeasured_pods;
  const double scale_;  // from values to percent
  double median_ = load_metrics::kNoValue;
  RowSet hot_;  // at the last measurement, or not far enough below the threshold since

  // By row, made anew with each answer and where pods come and go: decisions read them as they are. What a
  // node offers is looked at with each answer.
  std::vector<double> scores_;
  RowSet unknown_;
  RowSet closed_;                   // to all pods
  std::vector<double> room_;        // of the others: how large an estimate they take
  std::vector<double> block_room_;  // the least of 64 rows each

  std::function<void()> relief_;
  std::function<void(std::optional<cluster::Row>)> changed_;
};

}  // namespace berth::plugins
