// Fills nodes up to a target of measured CPU usage before it uses others, as TargetLoadPacking of
// scheduler-plugins v0.33.5.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/framework/score_parts.hpp"
#include "scheduler/plugins/target_load_packing/target_load_packing_args.hpp"
#include "scheduler/plugins/trimaran/recent_pods.hpp"

namespace berth::plugins {

// The expected usage of a node, in percent of its CPU capacity, is the measured one plus the estimates of the
// pod and of recently placed pods (RecentPods). Score: 100 at the target, falling to the target at an empty
// node and to 0 at a full one; 0 above. For a node with a fresh measurement it equals the score of
// scheduler-plugins. A node without a measurement counts as the median (unmeasuredNodes); if no node has
// one, every node gets 0.
//
// The equivalence cache does not apply: scores change with every poll.
class TargetLoadPacking final : public framework::ScorePartsPlugin,
                                public framework::ScorePlugin,
                                public framework::SavedStatePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  TargetLoadPacking(const TargetLoadPackingArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "TargetLoadPacking"; }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::Normalization normalization() const override { return framework::Normalization::kNone; }
  std::vector<framework::ScorePart> ScoreParts(const framework::Attempt& attempt,
                                               const RowSet& feasible) const override;

  Expected<framework::StateEncoder> SaveState() override;
  Expected<void> RestoreState(std::string_view text) override;

 private:
  struct Saved {
    std::vector<RecentPods::Saved> recent;
    double median = 0;
    static void VisitFields(auto& self, auto&& visit) {
      visit("recent", self.recent);
      visit("median", self.median);
    }
  };
  // The estimated usage of a pod, in milli-cores.
  std::int64_t EstimateOf(const api::Pod& pod) const;
  double Measured(cluster::Row row) const;
  // `estimate` of the pod, in milli-cores. NaN: the node has no measurement.
  double ExpectedPercent(cluster::Row row, std::int64_t estimate) const;
  std::int64_t ScoreOf(double percent) const;
  void RefreshCapacity() const;

  const TargetLoadPackingArgs args_;
  const cluster::NodeTable& nodes_;
  load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId used_;
  RecentPods recent_pods_;
  double median_ = load_metrics::kNoValue;
  // By row: status.capacity in milli-cores, of node_changes_ of the table.
  mutable std::vector<double> capacity_;
  mutable std::uint64_t node_changes_ = 0;
};

}  // namespace berth::plugins
