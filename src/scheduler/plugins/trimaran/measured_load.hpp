// The measured load of one resource of all nodes: average and standard deviation.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/plugins/trimaran/trimaran_args.hpp"

namespace berth::plugins {

// In percent of the node's capacity. With median_if_unmeasured, a node without an average counts as the
// medians of all nodes. Scheduler loop only.
class MeasuredLoad {
 public:
  MeasuredLoad(const TrimaranArgs& args, NodeLoad load, framework::Handle& handle);
  MeasuredLoad(const MeasuredLoad&) = delete;
  MeasuredLoad& operator=(const MeasuredLoad&) = delete;

  // Whether any node has a value.
  bool usable() const;
  // NaN: the node has no average and no median counts instead.
  double Average(cluster::Row row) const;
  // 0 if only the average is known.
  double Deviation(cluster::Row row) const;

  // What does not follow from the measurements, as a value, for recordings.
  struct Saved {
    double median_average = 0;
    double median_deviation = 0;
    static void VisitFields(auto& self, auto&& visit) {
      visit("average", self.median_average);
      visit("deviation", self.median_deviation);
    }
  };
  Saved Save() const { return {median_average_, median_deviation_}; }
  Expected<void> Restore(const Saved& saved);

 private:
  void OnPoll();

  const bool median_if_unmeasured_;
  load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId average_;
  const load_metrics::SignalId deviation_;
  double median_average_ = load_metrics::kNoValue;
  double median_deviation_ = 0;
};

// The node's allocatable amount in the units of scheduler-plugins, which determine how results are rounded:
// milli-cores, mebibytes.
double AllocatableOf(const cluster::NodeTable& nodes, NodeLoad load, cluster::Row row);
inline constexpr double kMebibytesPerByte = 1.0 / 1024.0 / 1024.0;

}  // namespace berth::plugins
