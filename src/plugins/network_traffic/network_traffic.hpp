// Prefers nodes whose network interface receives less. Goes by the names "NetworkTraffic" and
// "network_traffic", which tutorials gave it.
#pragma once

#include <string>

#include "framework/factory.hpp"
#include "framework/measurements.hpp"
#include "framework/plugin.hpp"
#include "plugins/measured/newcomers.hpp"
#include "plugins/network_traffic/network_traffic_args.hpp"

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
  double LoadOf(framework::Row row, double bytes) const;

  const std::string name_;
  const bool classic_;
  const framework::NodeTable& nodes_;
  framework::Measurements& measurements_;
  const framework::SignalId traffic_;
  const framework::SignalId speed_;  // of the links; the same as traffic_ in classic mode, where nobody asks
  Newcomers newcomers_;              // pods
  double median_ = framework::kNoValue;  // of what is compared
  bool by_share_ = false;                // of the links' speed, which is known for all that is measured
};

}  // namespace berth::plugins
