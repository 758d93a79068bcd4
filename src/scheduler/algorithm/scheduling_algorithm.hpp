// The scheduling algorithm: selects a node for a pod and records the reasons against all others. Reads the
// cluster and writes only its own record.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "scheduler/algorithm/totals.hpp"
#include "scheduler/equivalence_cache/equivalence_cache.hpp"
#include "scheduler/extenders/extenders.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::algorithm {

enum class TieBreak { kRandom, kFirstByName };

struct AlgorithmOptions {
  // Percentage of nodes among which feasible nodes are searched; 0 and 100: all. Profiles may override it.
  std::int64_t percentage_of_nodes_to_score = 0;
  bool sample = true;     // false: evaluate all nodes, whatever the percentages
  bool adaptive = false;  // 0 means kube-scheduler's adaptive share, which decreases with cluster size
  TieBreak tie_break = TieBreak::kRandom;
  bool score_parts = false;  // also record the components of scores
  // Size limit of the equivalence cache; 0: disabled.
  std::size_t equivalence_cache_bytes = 64u << 20;
  std::uint64_t seed = 1;
};

struct ScheduleResult {
  std::shared_ptr<record::AttemptRecord> record;  // record->result is the outcome
  cluster::Row row = cluster::kNoRow;             // of the selected node
  framework::CycleState state;                    // data of the plugins
  // plugins whose events may requeue the pod; empty after errors
  std::vector<std::string> rejectors;
  std::vector<std::string> pending;  // those that returned Pending
  // After a failure: the node to nominate the pod to. nullopt: unchanged; empty: cleared.
  std::optional<std::string> nominate;
  bool abandoned = false;  // the wait for an extender was cancelled; there is no result
};

// The state of the cluster that a decision reads. Node names are shared with the records.
struct ClusterView {
  cluster::NodeTable& nodes;  // not const: nominated pods are overlaid during Filter
  std::span<const cluster::Row> visiting_order;
  std::shared_ptr<const record::NodeNames> names;
};

// The node names by row; records share them until a node is added or removed.
std::shared_ptr<const record::NodeNames> NamesOf(const cluster::NodeTable& nodes);

// The number of feasible nodes at which kube-scheduler stops searching. 0 percent: its adaptive share, which
// decreases with cluster size.
std::size_t NodesToFind(std::int64_t percentage, std::size_t nodes);

// Reuses buffers between decisions. Scheduler loop only.
class SchedulingAlgorithm {
 public:
  // `extenders` (null: there are none) filter and score after the plugins.
  SchedulingAlgorithm(AlgorithmOptions options, const framework::Reasons& reasons,
                      extenders::Extenders* extenders = nullptr)
      : options_(options),
        reasons_(reasons),
        extenders_(extenders != nullptr && !extenders->empty() ? extenders : nullptr),
        random_(options.seed) {
    if (options.equivalence_cache_bytes > 0) memory_.emplace(options.equivalence_cache_bytes);
  }

  // `nominations`: nominated pods of any priority; the pod's own nomination is ignored. Blocks while
  // extenders respond.
  ScheduleResult Schedule(const cluster::PodInfo& pod, const runtime::Profile& profile,
                          const ClusterView& cluster, std::span<const runtime::Nomination> nominations);

 private:
  class PostFilterRun;

  void DecideNode(const cluster::PodInfo& pod, const runtime::Profile& profile, const ClusterView& cluster,
                  std::span<const runtime::Nomination> nominations, ScheduleResult& decision);
  bool FindFeasible(const framework::Attempt& attempt, const runtime::Profile& profile,
                    const ClusterView& cluster, std::span<const runtime::Nomination> nominations,
                    ScheduleResult& decision);
  bool EvaluatesAllNodes(const runtime::Profile& profile) const;
  // The cached results for the pod's shape; null if the cache does not apply to this pod.
  equivalence_cache::EquivalenceClass* Lookup(const cluster::PodInfo& pod, const runtime::Profile& profile);
  cluster::Row ChooseFrom(equivalence_cache::EquivalenceClass& known, record::AttemptRecord& record);
  const framework::Status& FirstError(const ClusterView& cluster) const;
  bool PassesPreFilter(const framework::Attempt& attempt, const runtime::Profile& profile,
                       const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                       ScheduleResult& decision);
  void RecordExcluded(const runtime::PreFilterOutcome& pre_filter, const RowSet& candidates,
                      record::AttemptRecord& record) const;
  void RecordRejectors(const runtime::PreFilterOutcome& pre_filter, const runtime::Profile& profile,
                       ScheduleResult& decision) const;
  // Calls the PostFilter plugins and completes the record of a pod without a feasible node.
  void HandleNoFit(const framework::Attempt& attempt, const runtime::Profile& profile,
                   const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                   ScheduleResult& decision);
  void EvaluateNominatedNode(const framework::Attempt& attempt, const runtime::Profile& profile,
                             const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                             const RowSet& candidates, record::AttemptRecord& record);
  void RecordVerdicts(const runtime::Profile& profile, record::AttemptRecord& record) const;
  // Applies the extenders' filters to the feasible nodes (extenders.cpp). Returns false if the decision is
  // complete.
  bool RunExtenderFilters(const framework::Attempt& attempt, const runtime::Profile& profile,
                          const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                          ScheduleResult& decision);
  bool NominatedNodePassesExtenders(const framework::Attempt& attempt, const ClusterView& cluster,
                                    const RowSet& alone);
  void RecordReasons(const std::vector<extenders::FilterResult::NodeReason>& reasons, const RowSet* among,
                     const ClusterView& cluster, record::AttemptRecord& record);
  void AddContributions(const framework::Attempt& attempt, const ClusterView& cluster,
                        record::AttemptRecord& record, RowSet& preferred);
  void Sample(const runtime::Profile& profile, const ClusterView& cluster, const RowSet& candidates,
              RowSet& feasible);
  framework::Status ScoreFeasible(const framework::Attempt& attempt, const runtime::Profile& profile,
                                  const ClusterView& cluster, record::AttemptRecord& record);
  void ChooseBest(const framework::Attempt& attempt, const ClusterView& cluster,
                  record::AttemptRecord& record);
  cluster::Row Choose(const record::AttemptRecord& record);

  AlgorithmOptions options_;
  const framework::Reasons& reasons_;
  extenders::Extenders* const extenders_;
  Random random_;
  std::size_t next_start_ = 0;  // the row at which the next sampled search starts

  std::optional<equivalence_cache::EquivalenceCache> memory_;
  equivalence_cache::EquivalenceClass* known_ = nullptr;  // cached results of the current attempt
  framework::ScratchPool scratch_;
  framework::FilterOutcome filtered_;
  std::vector<framework::ScoreColumn> columns_;
  runtime::SkippedPlugins skipped_;
  std::vector<WeightedScores> parts_;
  std::vector<std::uint16_t> light_totals_;
  std::vector<std::int64_t> totals_;
  std::vector<runtime::Nomination> relevant_;
  bool only_nominated_ = false;  // the pod's own nominated node passed, and the search ended there
  std::string nominated_rejector_;
  std::vector<extenders::FilterResult::NodeReason>
      nominated_reasons_;  // reasons of extenders for the nominated node
};

}  // namespace berth::algorithm
