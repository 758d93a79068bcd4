// One signal as LoadAware counts it: measured, expected, too high.
#pragma once

#include <functional>
#include <memory>
#include <optional>
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
  // From 0 to 100, the best. A node of which nothing is known counts as the median.
  double Score(framework::Row row) const { return row < scores_.size() ? scores_[row] : 0; }

  // What the pod will add, in pods or in the resource's unit.
  double EstimateOf(const framework::PodInfo& pod) const { return EstimateOf(*pod.pod, pod.use()); }
  // Those of `candidates` that are beyond the threshold, or would be with a pod of that estimate, or were hot
  // and are not yet well below it. Looks only at rows near those that the pod is too much for.
  void AddTooHigh(double estimate, const RowSet& candidates, RowSet& out) const;
  // Rows of which nothing is known.
  const RowSet& unknown() const { return unknown_; }

  // Called when a row has cooled down.
  void OnRelief(std::function<void()> told) { relief_ = std::move(told); }
  // Called when Score says something else of the row, or of all rows (nothing).
  void OnChange(std::function<void(std::optional<framework::Row>)> told) { changed_ = std::move(told); }

 private:
  double EstimateOf(const api::Pod& pod, const framework::PodUse& use) const;
  // In the resource's unit; 0: it is not known.
  double AmountUsed(const api::Pod& pod) const;
  // What an estimate comes to on that node.
  double PercentOf(double estimate, framework::Row row) const;
  double ScoreOf(double percent) const;
  // How large the estimate of a pod may be that the node still takes.
  double RoomFor(double expected, framework::Row row) const;
  void Measured();
  bool FindHot();
  void Refresh(framework::Row row);
  void SetRoom(framework::Row row, double room);

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
  RowSet hot_;  // at the last measurement, or not far enough below the threshold since

  // By row, made anew with each answer and where pods come and go: decisions read them as they are. What a
  // node offers is looked at with each answer.
  std::vector<double> scores_;
  RowSet unknown_;
  RowSet closed_;                   // to all pods
  std::vector<double> room_;        // of the others: how large an estimate they take
  std::vector<double> block_room_;  // the least of 64 rows each

  std::function<void()> relief_;
  std::function<void(std::optional<framework::Row>)> changed_;
};

}  // namespace berth::plugins
