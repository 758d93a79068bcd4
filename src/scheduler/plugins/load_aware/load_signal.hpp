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
#include "scheduler/plugins/load_aware/presets.hpp"
#include "scheduler/plugins/load_metrics/load_per_pod.hpp"
#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"
#include "scheduler/plugins/load_metrics/workload_usage.hpp"

namespace berth::plugins {

// The specification under which LoadAware declares the signal: a second declaration shares its values.
load_metrics::SignalSpec SignalSpecOf(const LoadSignalArgs& args, const LoadAwareArgs& plugin);
// The usage of each pod, in cores or bytes. `resource`: cpu or memory.
load_metrics::SignalSpec PodUsageSpecOf(const std::string& resource, const LoadAwareArgs& plugin);
// Whether the signal is the built-in share of the speed of a link, so that TrafficOfPods has its unit.
bool IsShareOfLink(const LoadSignalArgs& args);
// The traffic of each pod in the direction of such a signal, and the speed of a link of each node.
load_metrics::SignalSpec PodTrafficSpecOf(const LoadSignalArgs& args, const LoadAwareArgs& plugin);
load_metrics::SignalSpec LinkSpeedSpecOf(const LoadSignalArgs& args, Link link, const LoadAwareArgs& plugin);

// The expected load of a node is its measured load, in percent of the node's capacity, plus the estimates of
// pods that the measurement does not include yet. It determines the score. The threshold is compared with
// less: the measured load plus the estimates of pods that were placed since, at most `maxEstimate`, because a
// wrong estimate must not reject a node that is not busy. Which rows are rejected does not depend on the pod,
// and changes only with a poll, a pod on the row, or its node. Scheduler loop only.
class LoadSignal {
 public:
  LoadSignal(const LoadSignalArgs& args, const LoadAwareArgs& plugin, framework::Handle& handle);

  const LoadSignalArgs& args() const { return args_; }
  load_metrics::SignalState state() const { return measurements_.signal(signal_).state; }
  // Whether any node has a value.
  bool usable() const;

  // In percent; NaN: no value for the node.
  double Expected(cluster::Row row) const { return Measured(row) + Estimated(row); }
  // The part of Expected that is estimated.
  double Estimated(cluster::Row row) const { return PercentOf(unmeasured_pods_.At(row), row); }
  // From 0 to 100 (best). A node without a value is scored as the median.
  double Score(cluster::Row row) const { return row < scores_.size() ? scores_[row] : 0; }

  // Rows whose measured load exceeds the threshold, or exceeded it and has not yet cooled down by the
  // hysteresis. Empty without a threshold.
  const RowSet& hot() const { return hot_; }
  // Other rows that exceed the threshold with the estimates of pods that were placed since.
  const RowSet& filled() const { return filled_; }
  // Rows without a value.
  const RowSet& unknown() const { return unknown_; }

  // Sets a function that is called after a poll, when Score and the sets may have changed for every row. They
  // also change for a row when a pod or its node is added or removed; observers of the node table that are
  // registered after this object find them up to date.
  void OnPolled(std::function<void()> listener) { polled_ = std::move(listener); }

  // The content as a value, for recordings. Restore requires the same nodes, pods and measurements; the
  // function of OnPolled is not called.
  struct Saved {
    std::optional<WorkloadUsage::Saved> history;
    UnmeasuredPods::Saved unmeasured;
    LoadPerPod::Saved per_pod;
    double median = 0;
    std::vector<double> scores;  // by row
    std::vector<cluster::Row> unknown, hot, filled;
    static void VisitFields(auto& self, auto&& visit) {
      visit("history", self.history);
      visit("unmeasured", self.unmeasured);
      visit("perPod", self.per_pod);
      visit("median", self.median);
      visit("scores", self.scores);
      visit("unknown", self.unknown);
      visit("hot", self.hot);
      visit("filled", self.filled);
    }
  };
  Saved Save();
  berth::Expected<void> Restore(const Saved& saved);

 private:
  // In percent; NaN: no value.
  double Measured(cluster::Row row) const { return measurements_.signal(signal_).At(row) * scale_; }
  // The estimated load of a pod, in pods or in the resource's unit.
  double EstimateOf(const api::Pod& pod, const cluster::PodUse& use) const;
  // In the resource's unit; 0: unknown.
  double AmountUsed(const api::Pod& pod) const;
  // An estimate in percent of the node's capacity.
  double PercentOf(double estimate, cluster::Row row) const;
  double ScoreOf(double percent) const;
  void OnPoll();
  void Refresh(cluster::Row row);
  bool IsHot(double measured, cluster::Row row) const;

  const LoadSignalArgs args_;
  const double hysteresis_;
  const double max_estimate_;  // percent
  const cluster::NodeTable& nodes_;
  load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId signal_;
  const cluster::ResourceId resource_;            // resource of the estimate; unknown: pods are counted
  const std::unique_ptr<WorkloadUsage> history_;  // null: estimates are not learned
  UnmeasuredPods unmeasured_pods_;
  LoadPerPod per_pod_;  // if pods are counted
  const double scale_;  // factor from values to percent
  double median_ = load_metrics::kNoValue;

  // By row, updated after each poll and when pods are added or removed, so that decisions only read them.
  // Changes of a node's allocatable resources take effect with the next poll.
  std::vector<double> scores_;
  RowSet unknown_;
  RowSet hot_;
  RowSet filled_;

  std::function<void()> polled_;
};

}  // namespace berth::plugins
