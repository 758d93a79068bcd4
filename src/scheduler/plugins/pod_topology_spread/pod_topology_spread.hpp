// spec.topologySpreadConstraints, and the profile's default constraints (kube-scheduler v1.37.1).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "scheduler/cluster/pod_counters.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/pod_topology_spread/default_spread.hpp"
#include "scheduler/plugins/pod_topology_spread/spread_args.hpp"
#include "scheduler/plugins/topology/domain_counts.hpp"

namespace berth::plugins {

// Counts of pods per row come from PodCounters; an attempt sums them per domain. The sums are members of the
// plugin, because attempts do not overlap.
class PodTopologySpread final : public framework::PreFilterExtensionsPlugin,
                                public framework::FilterPlugin,
                                public framework::PreScorePlugin,
                                public framework::ScorePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& args, framework::Handle& handle);
  PodTopologySpread(const PodTopologySpreadArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "PodTopologySpread"; }
  bool StateIsDerived() const override { return true; }
  std::vector<framework::EventRegistration> EventsToRegister() const override;

  // --- hard constraints (pod_topology_spread.cpp) ---
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::Status AddPod(const framework::Attempt& attempt, const cluster::PlacedPod& added,
                           cluster::Row row) const override;
  framework::Status RemovePod(const framework::Attempt& attempt, const cluster::PlacedPod& removed,
                              cluster::Row row) const override;
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;

  // --- soft constraints (spread_score.cpp) ---
  framework::Status PreScore(const framework::Attempt& attempt, const RowSet& feasible) const override;
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::Status Normalize(const framework::Attempt& attempt, const RowSet& feasible,
                              framework::ScoreColumn& scores) const override;

 private:
  // The state of a hard constraint in this attempt.
  struct HardState {
    const cluster::SpreadConstraint* constraint = nullptr;
    DomainCounts counts;
    std::vector<bool> registered;  // by domain: contains an eligible node
    RowSet admitted;               // eligible rows
    std::size_t domains = 0;       // number of registered domains
    // The minimum count of registered domains, the minimum of the other domains, and their domains.
    std::int64_t lowest = 0, lowest_elsewhere = 0;
    std::uint32_t lowest_at = 0, lowest_elsewhere_at = 0;
  };
  // A change by a pod that a dry run adds or removes.
  struct DryRunChange {
    std::size_t constraint = 0;
    std::uint32_t domain = 0;
    std::int64_t pods = 0;
  };
  using DryRunChanges = std::vector<DryRunChange>;
  // The state of a soft constraint in this attempt.
  struct SoftState {
    const cluster::SpreadConstraint* constraint = nullptr;
    DomainCounts counts;
    std::vector<bool> seen;                      // by domain: contains a scored node
    double weight = 0;                           // compensates for topologies with many domains
    std::vector<double> of_domain;               // contribution to the score of its nodes
    const cluster::RowCounts* by_row = nullptr;  // hostname: counts per node instead
    cluster::RowCounts copy;                     // the target of by_row, if the counters do not keep it
  };

  // Filled by PreFilter.
  struct HardStates {
    std::span<const HardState> all() const { return {states.data(), count}; }
    std::vector<HardState> states;  // the first `count` are valid
    std::size_t count = 0;
    // Owns the constraints of the states. The attempt of a pod group's member is evaluated again after those
    // of other members, which may replace cached constraints.
    cluster::SpreadPtr owner;
  };
  // Filled by PreScore and Score.
  struct SoftStates {
    std::span<const SoftState> all() const { return {states.data(), count}; }
    std::vector<SoftState> states;  // the first `count` are valid
    std::size_t count = 0;
    cluster::SpreadPtr owner;  // of the constraints of the states
    RowSet ignored;
    std::vector<double> sums;                                 // by row
    std::vector<std::pair<std::uint32_t, double>> with_pods;  // (row, sum)
    std::vector<std::int64_t> normalized;                     // by sum, or by domain
    // The only constraint on multi-node domains, if all others are on hostname; null: sums are by row.
    const SoftState* common = nullptr;
    RowSet with_kind;               // feasible nodes with matching pods
    std::vector<std::int64_t> raw;  // by domain, for nodes without matching pods
    std::vector<bool> present;      // by domain: such a node is scored
  };
  static void RestrictToAllKeys(const std::vector<cluster::SpreadConstraint>& constraints,
                                const cluster::NodeTable& nodes, RowSet& rows);
  // Never null. Pointers to single constraints are valid while the result is.
  cluster::SpreadPtr ConstraintsOf(const cluster::PodInfo& pod) const;
  void RestrictToIncluded(const framework::Attempt& attempt, const cluster::SpreadConstraint& constraint,
                          RowSet& rows) const;
  void Sum(const framework::Attempt& attempt, const RowSet& with_all_keys, HardState& hard) const;
  static void FindLowest(HardState& hard);
  static std::int64_t GlobalMinimum(std::size_t index, const HardState& hard, const DryRunChanges& changes);
  static std::int64_t MinimumOfTwoPaths(std::size_t index, const HardState& hard,
                                        const DryRunChanges& changes);
  framework::Status RecordChange(const framework::Attempt& attempt, const cluster::PodLabels& labels,
                                 cluster::Row row, std::int64_t pods) const;
  void ComputeSoftState(const framework::Attempt& attempt, const RowSet& scored, const RowSet& counted,
                        bool require_all, SoftState& weighed) const;
  static void AddToSums(const SoftState& weighed, SoftStates& soft);
  static void FindCommonSums(const framework::Attempt& attempt, const RowSet& feasible, SoftStates& soft);
  static std::size_t PlaceOf(std::size_t row, const SoftStates& soft);
  static std::int64_t RawScore(std::uint32_t domain, std::optional<std::uint32_t> row,
                               const SoftStates& soft);
  static void ScoreByDomain(SoftStates& soft, framework::ScoreColumn& scores);
  static void NormalizeByDomain(const framework::Attempt& attempt, const RowSet& scored, SoftStates& soft,
                                framework::ScoreColumn& scores);
  std::size_t MarkSeen(const framework::Attempt& attempt, const RowSet& scored, bool require_all,
                       SoftState& weighed) const;

  Expected<framework::Hint> AfterAssignedPod(const cluster::PodInfo& waiting, const api::Pod* before,
                                             const api::Pod* after) const;
  Expected<framework::Hint> AfterTargetPod(const cluster::PodInfo& waiting, const api::Pod& before,
                                           const api::Pod& after) const;
  Expected<framework::Hint> AfterNode(const cluster::PodInfo& waiting, const api::Node* before,
                                      const api::Node* after) const;
  // The pod's constraints, if the hard ones are valid.
  Expected<cluster::SpreadPtr> HardOf(const cluster::PodInfo& pod) const;

  cluster::SymbolTable& symbols_;
  cluster::PodCounters& counters_;
  const bool system_defaults_;
  const bool match_label_keys_;
  const cluster::LabelKeyId hostname_;
  const framework::ReasonId mismatch_;
  const framework::ReasonId missing_key_;
  const framework::StateKey<DryRunChanges> filter_key_;
  const framework::StateKey<bool> score_key_;
  const framework::BufferKey<HardStates> hard_;
  const framework::BufferKey<SoftStates> soft_;
  const std::unique_ptr<DefaultSpread> defaults_;
};

}  // namespace berth::plugins
