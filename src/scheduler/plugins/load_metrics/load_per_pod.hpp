// The load that one pod adds to a node, learned from measurements.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"

namespace berth::plugins {

// Learned from nodes on which pods start: the slope of the change of the load over the change of the number
// of measured pods, between consecutive polls. A comparison of different nodes at one time would be wrong in
// both directions: it attributes the load of the system to pods, and a scheduler that balances the load
// places fewer pods on nodes whose pods have more load. Until pods have started, the estimate is the total
// load divided by the number of pods, or by ten pods per node if that is more. It is never negative, never
// above the median load of a node, and never above the total load divided by the number of pods. Nodes with a
// load above 1e18 count as not measured; the estimate is always finite. Scheduler loop only.
class LoadPerPod {
 public:
  // Must be called after each change of the signal's values. `unmeasured`: counted in pods. Repeated calls
  // for one poll have the effect of the last one.
  void Learn(const load_metrics::Signal& signal, const cluster::NodeTable& nodes,
             const UnmeasuredPods& unmeasured);
  // In the signal's unit; 0: no node was ever measured.
  double value() const { return value_; }

  // The content as a value, for recordings. Save forgets the samples of nodes that were deleted since.
  struct Saved {
    struct OfRow {
      cluster::Row row = 0;
      double pods = 0;
      double load = 0;
      static void VisitFields(auto& self, auto&& visit) {
        visit("row", self.row);
        visit("pods", self.pods);
        visit("load", self.load);
      }
    };
    double value = 0;
    MonoTime polled_at;
    std::vector<OfRow> before, now;
    std::vector<double> learned, with_current;  // products, squares
    static void VisitFields(auto& self, auto&& visit) {
      visit("value", self.value);
      visit("polledAt", self.polled_at);
      visit("before", self.before);
      visit("now", self.now);
      visit("learned", self.learned);
      visit("withCurrent", self.with_current);
    }
  };
  Saved Save(const cluster::NodeTable& nodes);
  // Requires the same nodes.
  Expected<void> Restore(const Saved& saved, const cluster::NodeTable& nodes);

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
  static std::vector<Saved::OfRow> SaveSamples(std::vector<Sample>& samples, const cluster::NodeTable& nodes);
  static Expected<std::vector<Sample>> RestoreSamples(const std::vector<Saved::OfRow>& saved,
                                                      const cluster::NodeTable& nodes);
  static Expected<Sums> RestoreSums(const std::vector<double>& saved);
  Sums ChangesSince(const std::vector<Sample>& before) const;

  double value_ = 0;
  MonoTime polled_at_{};        // of the current poll
  std::vector<Sample> before_;  // by row, at the previous poll
  std::vector<Sample> now_;     // by row, at the current poll
  Sums learned_;                // from the polls before the current one
  Sums with_current_;
};

}  // namespace berth::plugins
