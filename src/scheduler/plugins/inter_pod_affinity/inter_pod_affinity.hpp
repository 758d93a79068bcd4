// spec.affinity.podAffinity and podAntiAffinity, of the incoming pod and of pods on nodes (kube-scheduler
// v1.37.1).
#pragma once

#include <span>
#include <vector>

#include "scheduler/cluster/pod_counters.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/inter_pod_affinity/affinity_args.hpp"
#include "scheduler/plugins/topology/domain_counts.hpp"

namespace berth::plugins {

// Counts of pods and terms per row come from PodCounters; an attempt sums them per domain. The sums are
// members of the plugin, because attempts do not overlap.
class InterPodAffinity final : public framework::PreFilterExtensionsPlugin,
                               public framework::FilterPlugin,
                               public framework::PreScorePlugin,
                               public framework::ScorePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& args, framework::Handle& handle);
  InterPodAffinity(const InterPodAffinityArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "InterPodAffinity"; }
  bool StateIsDerived() const override { return true; }
  std::vector<framework::EventRegistration> EventsToRegister() const override;

  // --- required terms (inter_pod_affinity.cpp) ---
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::Status AddPod(const framework::Attempt& attempt, const cluster::PlacedPod& added,
                           cluster::Row row) const override;
  framework::Status RemovePod(const framework::Attempt& attempt, const cluster::PlacedPod& removed,
                              cluster::Row row) const override;
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;

  // --- preferred terms (affinity_score.cpp) ---
  framework::Status PreScore(const framework::Attempt& attempt, const RowSet& feasible) const override;
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::Status Normalize(const framework::Attempt& attempt, const RowSet& feasible,
                              framework::ScoreColumn& scores) const override;

 private:
  // Sums per topology key of an attempt; each key occurs once.
  class Sums {
   public:
    void Reset() { used_ = 0; }
    DomainCounts& Of(cluster::LabelKeyId key, const cluster::NodeTable& nodes);
    const DomainCounts* Find(cluster::LabelKeyId key) const;
    std::span<const DomainCounts> all() const { return {sums_.data(), used_}; }
    // Whether all domains are empty.
    bool Empty() const;

   private:
    std::vector<DomainCounts> sums_;  // the first used_ are valid
    std::size_t used_ = 0;
  };
  // Filled by PreFilter, the scores by PreScore.
  struct AttemptSums {
    Sums existing;  // pods with a required anti-affinity term against the incoming pod
    Sums matching;  // pods that match all required affinity terms of the incoming pod
    Sums against;   // pods that match one of its required anti-affinity terms
    Sums scores;
  };
  // Changes by pods that a dry run adds or removes.
  enum class Sum : std::uint8_t { kExisting, kAffinity, kAnti };
  struct DryRunChange {
    Sum sum = Sum::kExisting;
    cluster::LabelKeyId key;
    std::uint32_t domain = 0;
    std::int64_t amount = 0;
  };
  using DryRunChanges = std::vector<DryRunChange>;

  void SumExisting(const framework::Attempt& attempt, AttemptSums& sums) const;
  void SumIncoming(const framework::Attempt& attempt, const cluster::PodAffinityTerms& terms,
                   AttemptSums& sums) const;
  framework::Status RecordChange(const framework::Attempt& attempt, const cluster::PodUse& use,
                                 cluster::Row row, std::int64_t amount) const;
  std::int64_t CountIn(Sum sum, const DomainCounts& counts, std::uint32_t domain,
                       const DryRunChanges& changes) const;
  bool NoMatchingPod(const Sums& matching, const DryRunChanges& changes) const;
  bool MatchesItself(const cluster::PodInfo& pod) const;
  void RejectForAffinity(const framework::Attempt& attempt, const DryRunChanges& changes, RowSet& alive,
                         framework::Rejections& out) const;
  void RejectDomainsWithPods(const framework::Attempt& attempt, Sum sum, const Sums& sums,
                             framework::ReasonId reason, const DryRunChanges& changes, RowSet& alive,
                             framework::Rejections& out) const;

  Expected<framework::Hint> AfterAssignedPod(const cluster::PodInfo& waiting,
                                             const framework::EventObjects& objects) const;
  Expected<framework::Hint> AfterNode(const cluster::PodInfo& waiting, const api::Node* before,
                                      const api::Node* after) const;

  const InterPodAffinityArgs args_;
  cluster::SymbolTable& symbols_;
  cluster::PodCounters& counters_;
  const framework::ReasonId affinity_;
  const framework::ReasonId anti_affinity_;
  const framework::ReasonId existing_anti_affinity_;
  const framework::StateKey<DryRunChanges> filter_key_;
  const framework::StateKey<bool> score_key_;
  const cluster::PodAffinityTerms no_terms_;
  const framework::BufferKey<AttemptSums> sums_;
};

}  // namespace berth::plugins
