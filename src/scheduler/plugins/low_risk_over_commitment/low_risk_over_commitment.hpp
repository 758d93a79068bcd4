// Prefers nodes on which overcommitted limits are unlikely to be used, as LowRiskOverCommitment of
// scheduler-plugins v0.33.5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/framework/score_parts.hpp"
#include "scheduler/plugins/low_risk_over_commitment/over_commitment_args.hpp"
#include "scheduler/plugins/trimaran/container_amounts.hpp"
#include "scheduler/plugins/trimaran/measured_load.hpp"

namespace berth::plugins {

// The risk of a resource is the weighted mean of two parts: by how much the limits of the node's pods and of
// the new pod exceed the allocatable amount, as a fraction of what they exceed the requests; and the
// probability that the measured load exceeds the requests of the node's pods. Score: 100 * (1 - risk) of the
// resource with the higher risk. Pods without requests and limits get 0 on every node. For a node with a
// fresh measurement it equals the score of scheduler-plugins. A node without a measurement counts as the
// medians (unmeasuredNodes); if no node has one, every node gets 0.
//
// The equivalence cache does not apply: scores change with every poll.
class LowRiskOverCommitment final : public framework::ScorePartsPlugin,
                                    public framework::ScorePlugin,
                                    public framework::SavedStatePlugin,
                                    private cluster::PodObserver {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  LowRiskOverCommitment(const OverCommitmentArgs& args, framework::Handle& handle);
  ~LowRiskOverCommitment() override;

  std::string_view Name() const override { return "LowRiskOverCommitment"; }
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
  // Of the pods on a row. Limits are at least the requests.
  struct RowSum {
    CpuAndMemory requests;
    CpuAndMemory limits;
  };
  // The probability that the load exceeds the requests, for the inputs of the last computation. It does not
  // depend on the pod that is placed, and takes most of the time.
  struct LoadRisk {
    std::int64_t requests = -1;
    std::int64_t limits = -1;
    std::int64_t capacity = -1;
    double average = 0;
    double deviation = 0;
    double risk = 0;
  };
  struct Resource {
    NodeLoad load;
    std::int64_t CpuAndMemory::* amount;
    double limit_weight;
    MeasuredLoad measured;
    std::vector<LoadRisk> load_risks = {};  // by row
  };
  // What a pod adds to a row.
  static RowSum SumOf(const api::Pod& pod);

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) override;

  bool IsPresent(cluster::Row row) const;
  double RiskOf(Resource& resource, const cluster::NodeTable& nodes, cluster::Row row,
                const RowSum& pod) const;
  double LimitRisk(const Resource& resource, std::int64_t capacity, cluster::Row row,
                   const RowSum& pod) const;
  double LoadRiskOf(Resource& resource, const cluster::NodeTable& nodes, std::int64_t capacity,
                    cluster::Row row) const;
  // `capacity` in the unit of AllocatableOf.
  double ComputeLoadRisk(const LoadRisk& inputs, double capacity) const;

  const OverCommitmentArgs args_;
  cluster::NodeTable& nodes_;
  load_metrics::SignalTable& measurements_;
  mutable Resource cpu_;
  mutable Resource memory_;
  // Of load-watcher; nullopt: nodes are present if CPU or memory is measured.
  std::optional<load_metrics::SignalId> presence_;
  std::vector<RowSum> sums_;  // by row
};

}  // namespace berth::plugins
