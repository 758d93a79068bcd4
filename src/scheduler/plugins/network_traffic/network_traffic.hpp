// Prefers nodes whose network interface receives less. Goes by the names "NetworkTraffic" and
// "network_traffic", which tutorials gave it.
#pragma once

#include <string>

#include "scheduler/framework/factory.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"
#include "scheduler/plugins/network_traffic/network_traffic_args.hpp"

namespace berth::plugins {

// The raw score is what the interface carries, and what pods will add that the measurement does not show yet:
// each as much as a pod does on average. Normalised, the busiest feasible node gets 0 and an idle one 100, in
// whole numbers, as the tutorial has it; by shares of links, a full link gets 0 and an empty one 100, whoever
// is busiest. A node that is not measured counts as the median. If nobody carries anything, or nothing is
// known, every node gets 100: no preference.
class NetworkTraffic final : public framework::ScorePlugin {
 public:
  static framework::Factory Factory(std::string name);
  NetworkTraffic(std::string name, const NetworkTrafficArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return name_; }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::Status Normalize(const framework::Attempt& attempt, const RowSet& feasible,
                              framework::ScoreColumn& scores) const override;

 private:
  void Measured();
  double LoadOf(cluster::Row row, double bytes) const;

  const std::string name_;
  const bool classic_;
  const cluster::NodeTable& nodes_;
  load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId traffic_;
  const load_metrics::SignalId speed_;  // of the links; the same as traffic_ in classic mode, where nobody asks
  UnmeasuredPods unmeasured_pods;              // pods
  double median_ = load_metrics::kNoValue;  // of what is compared
  bool by_share_ = false;                // of the links' speed, which is known for all that is measured
};

}  // namespace berth::plugins
