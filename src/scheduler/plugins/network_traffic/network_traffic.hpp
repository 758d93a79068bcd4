// Prefers nodes whose network interface receives less traffic. Available under the names "NetworkTraffic" and
// "network_traffic" as in the tutorials.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/plugins/load_metrics/load_per_pod.hpp"
#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"
#include "scheduler/plugins/network_traffic/network_traffic_args.hpp"

namespace berth::plugins {

// The raw score is the interface's traffic; in the mode "rate" plus an estimate for pods that the measurement
// does not include yet (LoadPerPod). In the mode "classic" it changes only with the measurements, as in the
// tutorial. Normalization as in the tutorial, in integers: the busiest feasible node gets 0, an
// idle one 100. With link speeds: a saturated link gets 0, an idle one 100, independent of other nodes. A
// node without a value is scored as the median. If there is no traffic or no value, every node gets 100.
class NetworkTraffic final : public framework::ScorePlugin, public framework::SavedStatePlugin {
 public:
  static framework::Factory Factory(std::string name);
  NetworkTraffic(std::string_view name, const NetworkTrafficArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return name_; }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::Status Normalize(const framework::Attempt& attempt, const RowSet& feasible,
                              framework::ScoreColumn& scores) const override;

  Expected<framework::StateEncoder> SaveState() override;
  Expected<void> RestoreState(std::string_view text) override;

 private:
  struct Saved {
    std::optional<UnmeasuredPods::Saved> unmeasured;
    LoadPerPod::Saved per_pod;
    double median = 0;
    bool by_share = false;
    static void VisitFields(auto& self, auto&& visit) {
      visit("unmeasured", self.unmeasured);
      visit("perPod", self.per_pod);
      visit("median", self.median);
      visit("byShare", self.by_share);
    }
  };
  void Measured();
  double LoadOf(cluster::Row row, double bytes) const;

  const std::string_view name_;
  const bool classic_;
  const cluster::NodeTable& nodes_;
  load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId traffic_;
  const load_metrics::SignalId speed_;  // link speed; in classic mode the same as traffic_ and unused
  std::optional<UnmeasuredPods> unmeasured_pods_;  // counted in pods; nullopt: classic
  LoadPerPod per_pod_;
  double median_ = load_metrics::kNoValue;  // of the compared values
  // compare fractions of link speeds, which are known for all measured nodes
  bool by_share_ = false;
};

}  // namespace berth::plugins
