// Rejects nodes on which the pod's claims cannot be satisfied: bound volumes must be accessible, and unbound
// claims need a matching volume or capacity for a new one. Binds the volumes before the pod is bound.
#pragma once

#include "observability/metrics/registry.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/volume_binding/binding_args.hpp"
#include "scheduler/plugins/volume_binding/pod_claims.hpp"
#include "scheduler/plugins/volume_binding/storage_index.hpp"
#include "scheduler/plugins/volume_dependency.hpp"

namespace berth::plugins {

class VolumeBinding final : public framework::PreFilterPlugin,
                            public framework::FilterPlugin,
                            public framework::PreScorePlugin,
                            public framework::ScorePlugin,
                            public framework::ReservePlugin,
                            public framework::PreBindPlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& args, framework::Handle& handle);
  VolumeBinding(const VolumeBindingArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "VolumeBinding"; }
  bool StateIsDerived() const override { return true; }
  std::vector<framework::EventRegistration> EventsToRegister() const override;
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo& pod) const override {
    return VolumeDependency(pod);
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  framework::Status PreScore(const framework::Attempt& attempt, const RowSet& feasible) const override;
  framework::ResultDependency PreScoreDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  // All nodes get the same score if the pod has no volumes.
  framework::ResultDependency ScoreDependency(const cluster::PodInfo& pod) const override {
    return VolumeDependency(pod);
  }
  framework::Normalization normalization() const override { return framework::Normalization::kNone; }
  framework::Status Reserve(const framework::Placement& placement) override;
  void Unreserve(const framework::Placement& placement) override;
  PreFlight PreBindPreFlight(const framework::Placement& placement) override;
  Duration LongestPreBind() const override;
  void PreBind(const framework::Placement& placement, std::stop_token stop,
               framework::StatusCallback answer) override;

 private:
  using ClaimsPtr = std::shared_ptr<PodClaims>;
  // The state of one Filter call.
  struct FilterRun;

  // The reason why the claim of a volume rejects the pod on all nodes; empty if it does not.
  std::string CheckClaim(const api::Pod& pod, const api::Volume& volume) const;
  enum class BindingState : std::uint8_t { kBound, kDelayed, kImmediate };
  Expected<BindingState> BindingStateOf(const api::PersistentVolumeClaim& claim) const;
  DelayedClaim MakeDelayedClaim(ClaimPtr claim) const;

  void CheckBound(const PodClaims& claims, FilterRun& run) const;
  void RestrictToAffinity(StorageIndex::Volume& volume, FilterRun& run, RowSet& rows) const;
  void CheckDelayed(PodClaims& claims, FilterRun& run) const;
  void Match(DelayedClaim& wanted, FilterRun& run, const RowSet& rows) const;
  void MatchReserved(DelayedClaim& wanted, FilterRun& run, RowSet& open) const;
  void MatchFree(DelayedClaim& wanted, FilterRun& run, const RowSet& rows, RowSet& open) const;
  void Provision(DelayedClaim& wanted, FilterRun& run, RowSet& alive, RowSet& rows) const;
  bool RestrictToCapacity(std::optional<std::int64_t> bytes, const api::StorageClass& storage_class,
                          FilterRun& run, RowSet& rows,
                          std::shared_ptr<std::vector<std::int64_t>>& column) const;
  std::int64_t ScoreOf(const PodClaims& claims, std::size_t row) const;
  framework::Status Assume(PodClaims& claims, cluster::Row row, const std::string& node);
  void Revert(const BindingPlan& plan);

  // scheduler_volume_scheduling_stage_error_total, by operation; null without metrics.
  struct Failures {
    explicit Failures(metrics::Registry* registry);
    static void Count(metrics::Counter* counter) {
      if (counter != nullptr) counter->Add();
    }
    metrics::Counter* predicate = nullptr;
    metrics::Counter* assume = nullptr;
    metrics::Counter* bind = nullptr;
  };

  framework::Handle& handle_;
  const std::unique_ptr<StorageIndex> index_;  // caches what it compiles
  const Failures failures_;
  const Duration bind_timeout_;
  const bool scores_;              // StorageCapacityScoring
  const bool uses_attributes_;     // VolumeAttributesClass
  std::vector<ShapePoint> shape_;  // scores scaled to 0..100
  framework::StateKey<ClaimsPtr> key_;
  framework::ReasonId affinity_conflict_, no_volume_, no_space_, lost_;
};

}  // namespace berth::plugins
