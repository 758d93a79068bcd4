// One signal of LoadAware: measured load, expected load, threshold.
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

// The expected load of a node is its measured load, in percent of the node's capacity, plus the estimates of
// pods that the measurement does not include yet. Scheduler loop only.
class LoadSignal {
 public:
  LoadSignal(const LoadSignalArgs& args, const LoadAwareArgs& plugin, framework::Handle& handle);

  const LoadSignalArgs& args() const { return args_; }
  load_metrics::SignalState state() const { return measurements_.signal(signal_).state; }
  // Whether any node has a value.
  bool usable() const;

  // In percent; NaN: no value for the node.
  double Expected(cluster::Row row) const {
    return measurements_.signal(signal_).At(row) * scale_ + PercentOf(unmeasured_pods_.At(row), row);
  }
  // From 0 to 100 (best). A node without a value is scored as the median.
  double Score(cluster::Row row) const { return row < scores_.size() ? scores_[row] : 0; }

  // The estimated load of a pod, in pods or in the resource's unit.
  double EstimateOf(const cluster::PodInfo& pod) const { return EstimateOf(*pod.pod, pod.use()); }
  // Adds the rows of `candidates` that exceed the threshold, would exceed it with a pod of this estimate, or
  // were hot and have not yet cooled down by the hysteresis. Evaluates only blocks that contain such rows.
  void AddTooHigh(double estimate, const RowSet& candidates, RowSet& out) const;
  // Rows without a value.
  const RowSet& unknown() const { return unknown_; }

  // Sets a function that is called when a row is no longer hot.
  void OnCooledDown(std::function<void()> listener) { cooled_down_ = std::move(listener); }
  // Sets a function that is called when Score changes for a row, or for all rows (nullopt).
  void OnChange(std::function<void(std::optional<cluster::Row>)> listener) { changed_ = std::move(listener); }

 private:
  double EstimateOf(const api::Pod& pod, const cluster::PodUse& use) const;
  // In the resource's unit; 0: unknown.
  double AmountUsed(const api::Pod& pod) const;
  // An estimate in percent of the node's capacity.
  double PercentOf(double estimate, cluster::Row row) const;
  double ScoreOf(double percent) const;
  // The largest estimate that fits on the node below the threshold.
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
  const cluster::ResourceId resource_;            // resource of the estimate; unknown: pods are counted
  const std::unique_ptr<WorkloadUsage> history_;  // null: estimates are not learned
  UnmeasuredPods unmeasured_pods_;
  const double scale_;  // factor from values to percent
  double median_ = load_metrics::kNoValue;
  RowSet hot_;  // at the last measurement, or not yet below the threshold by the hysteresis

  // By row, updated after each poll and when pods are added or removed, so that decisions only read them.
  // Changes of a node's allocatable resources take effect with the next poll.
  std::vector<double> scores_;
  RowSet unknown_;
  RowSet closed_;                   // rows that accept no pod
  std::vector<double> room_;        // of the other rows: the largest estimate that fits
  std::vector<double> block_room_;  // the minimum of each block of 64 rows

  std::function<void()> cooled_down_;
  std::function<void(std::optional<cluster::Row>)> changed_;
};

}  // namespace berth::plugins
