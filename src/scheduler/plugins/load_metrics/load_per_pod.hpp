// The load that one pod adds to a node, learned from measurements.
#pragma once

#include "scheduler/cluster/node_table.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"

namespace berth::plugins {

// The slope of the load over the number of pods, over all measured nodes: load that does not grow with the
// pods of a node, such as that of the system, is not attributed to pods. The first estimate is a tenth of the
// mean load of a node. Every poll moves it towards the slope, by more the more the numbers of pods differ; if
// they are equal on all nodes, it does not change. It is never negative, never above the median load of a
// node, and never above the total load divided by the number of pods. Scheduler loop only.
class LoadPerPod {
 public:
  // Must be called after each change of the signal's values. `unmeasured`: counted in pods. Repeated calls
  // for one poll have the effect of the last one.
  void Learn(const load_metrics::Signal& signal, const cluster::NodeTable& nodes,
             const UnmeasuredPods& unmeasured);
  // In the signal's unit; 0: no node was ever measured.
  double value() const { return value_; }

 private:
  double value_ = 0;
  double before_ = load_metrics::kNoValue;  // the estimate before the current poll; NaN: none
  MonoTime polled_at_{};                    // of the current poll
};

}  // namespace berth::plugins
