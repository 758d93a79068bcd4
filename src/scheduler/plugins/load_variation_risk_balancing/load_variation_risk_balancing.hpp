// Balances the mean and the variation of the measured load, as LoadVariationRiskBalancing of
// scheduler-plugins v0.33.5.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/framework/score_parts.hpp"
#include "scheduler/plugins/load_variation_risk_balancing/load_variation_args.hpp"
#include "scheduler/plugins/trimaran/container_amounts.hpp"
#include "scheduler/plugins/trimaran/measured_load.hpp"

namespace berth::plugins {

// The risk of a resource is the mean of two fractions of the allocatable amount, both at most 1: the average
// usage plus the pod's request, and margin * deviation^(1 / sensitivity). Score: 100 * (1 - risk) of the
// resource with the higher risk; if only CPU or only memory is measured, of that one. For a node with a fresh
// measurement it equals the score of scheduler-plugins. A node without a measurement counts as the medians
// (unmeasuredNodes); if no node has one, every node gets 0.
//
// The equivalence cache does not apply: scores change with every poll.
class LoadVariationRiskBalancing final : public framework::ScorePartsPlugin,
                                         public framework::ScorePlugin,
                                         public framework::SavedStatePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  LoadVariationRiskBalancing(const LoadVariationArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "LoadVariationRiskBalancing"; }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::Normalization normalization() const override { return framework::Normalization::kNone; }
  std::vector<framework::ScorePart> ScoreParts(const framework::Attempt& attempt,
                                               const RowSet& feasible) const override;

  Expected<framework::StateEncoder> SaveState() override;
  Expected<void> RestoreState(std::string_view text) override;

 private:
  struct Saved {
    MeasuredLoad::Saved cpu, memory;
    static void VisitFields(auto& self, auto&& visit) {
      visit("cpu", self.cpu);
      visit("memory", self.memory);
    }
  };
  struct Risk {
    bool known = false;
    double load = 0;       // fraction of the capacity, request included
    double requested = 0;  // the pod's part of it
    double score = 0;      // 0 to 100
  };
  // `capacity` and `request` in one unit.
  Risk RiskOf(const MeasuredLoad& measured, cluster::Row row, double capacity, double request) const;
  Risk CpuRisk(const cluster::NodeTable& nodes, cluster::Row row, const CpuAndMemory& request) const;
  Risk MemoryRisk(const cluster::NodeTable& nodes, cluster::Row row, const CpuAndMemory& request) const;
  double VariationOf(double deviation) const;

  const LoadVariationArgs args_;
  MeasuredLoad cpu_;
  MeasuredLoad memory_;
};

}  // namespace berth::plugins
