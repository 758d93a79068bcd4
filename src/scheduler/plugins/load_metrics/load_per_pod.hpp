// The load that one pod adds to a node, learned from measurements.
#pragma once

#include <vector>

#include "scheduler/cluster/node_table.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"

namespace berth::plugins {

// Learned from nodes on which pods start: the slope of the change of the load over the change of the number
// of measured pods, between consecutive polls. A comparison of different nodes at one time would be wrong in
// both directions: it attributes the load of the system to pods, and a scheduler that balances the load
// places fewer pods on nodes whose pods have more load. Until pods have started, the estimate is the total
// load divided by the number of pods, or by ten pods per node if that is more. It is never negative, never
// above the median load of a node, and never above the total load divided by the number of pods. Scheduler
// loop only.
class LoadPerPod {
 public:
  // Must be called after each change of the signal's values. `unmeasured`: counted in pods. Repeated calls
  // for one poll have the effect of the last one.
  void Learn(const load_metrics::Signal& signal, const cluster::NodeTable& nodes,
             const UnmeasuredPods& unmeasured);
  // In the signal's unit; 0: no node was ever measured.
  double value() const { return value_; }

 private:
  // Of one node at one poll.
  struct Sample {
    cluster::NodeNameId node;  // not known(): not measured
    double pods = 0;           // measured ones
    double load = 0;
  };
  // Of the regression.
  struct Sums {
    double products = 0;
    double squares = 0;
  };
  Sums ChangesSince(const std::vector<Sample>& before) const;

  double value_ = 0;
  MonoTime polled_at_{};        // of the current poll
  std::vector<Sample> before_;  // by row, at the previous poll
  std::vector<Sample> now_;     // by row, at the current poll
  Sums learned_;                // from the polls before the current one
  Sums with_current_;
};

}  // namespace berth::plugins
