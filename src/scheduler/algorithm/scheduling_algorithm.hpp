// The decision: which node for this pod, and why no other. Reads the cluster, writes nothing but its own
// record.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "scheduler/equivalence_cache/equivalence_cache.hpp"
#include "scheduler/algorithm/totals.hpp"
#include "scheduler/extenders/extenders.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::algorithm {

enum class TieBreak { kRandom, kFirstByName };

struct AlgorithmOptions {
  // Of how many nodes a feasible one must be among to be scored, in percent; 0 and 100: all. Profiles may
  // override.
  std::int64_t percentage_of_nodes_to_score = 0;
  bool sample = true;     // false: look at all nodes whatever the percentages say
  bool adaptive = false;  // 0 means kube-scheduler's share, which shrinks with the size of the cluster
  TieBreak tie_break = TieBreak::kRandom;
  bool score_parts = false;  // keep what scores are made of, too
  // For what is known of shapes of pods; 0: nothing is remembered.
  std::size_t equivalence_cache_bytes = 64u << 20;
  std::uint64_t seed = 1;
};

struct ScheduleResult {
  std::shared_ptr<record::AttemptRecord> record;  // its result says how it ended
  cluster::Row row = cluster::kNoRow;         // of the chosen node
  framework::CycleState state;                    // what the plugins remember
  std::vector<std::string> rejectors;             // plugins whose events may free the pod; empty after errors
  std::vector<std::string> pending;               // those of them that answered Pending
  // After a failure: the node the pod is nominated to from now on, empty for none; nothing keeps what was.
  std::optional<std::string> nominate;
  bool abandoned = false;  // an extender's answer was not waited for: nothing has been decided
};

// What of the cluster a decision reads. Node names are shared with the records.
struct ClusterView {
  cluster::NodeTable& nodes;  // not const: nominated pods are overlaid while filters run
  std::span<const cluster::Row> visiting_order;
  std::shared_ptr<const record::NodeNames> names;
};

// The names of the nodes by row, for records to share until a node comes or goes.
std::shared_ptr<const record::NodeNames> NamesOf(const cluster::NodeTable& nodes);

// With how many feasible ones of so many nodes kube-scheduler is content; 0 percent: its share, which shrinks
// with the size of the cluster.
std::size_t NodesToFind(std::int64_t percentage, std::size_t nodes);

// Keeps buffers from decision to decision. One thread.
class SchedulingAlgorithm {
 public:
  // `extenders` (null: there are none) have their say after the plugins.
  SchedulingAlgorithm(AlgorithmOptions options, const framework::Reasons& reasons, extenders::Extenders* extenders = nullptr)
      : options_(options),
        reasons_(reasons),
        extenders_(extenders != nullptr && !extenders->empty() ? extenders : nullptr),
        random_(options.seed) {
    if (options.equivalence_cache_bytes > 0) memory_.emplace(options.equivalence_cache_bytes);
  }

  // `nominations`: pods promised a node, of whatever priority; the pod's own is ignored. Waits for extenders.
  ScheduleResult Schedule(const cluster::PodInfo& pod, const runtime::Profile& profile, const ClusterView& cluster,
                  std::span<const runtime::Nomination> nominations);

 private:
  class WhatIfRun;

  void DecideNode(const cluster::PodInfo& pod, const runtime::Profile& profile, const ClusterView& cluster,
                  std::span<const runtime::Nomination> nominations, ScheduleResult& decision);
  bool FindFeasible(const framework::Attempt& attempt, const runtime::Profile& profile,
                    const ClusterView& cluster, std::span<const runtime::Nomination> nominations,
                    ScheduleResult& decision);
  bool LooksAtAll(const runtime::Profile& profile) const;
  // What is known of the pod's shape; null if the pod has to be judged by itself.
  equivalence_cache::EquivalenceClass* Lookup(const cluster::PodInfo& pod, const runtime::Profile& profile);
  cluster::Row ChooseFrom(equivalence_cache::EquivalenceClass& known, record::AttemptRecord& record);
  const framework::Status& FirstError(const ClusterView& cluster) const;
  bool PassesPreFilter(const framework::Attempt& attempt, const runtime::Profile& profile,
                       const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                       ScheduleResult& decision);
  void NoteLeftOut(const runtime::PreFilterOutcome& pre_filter, const RowSet& candidates,
                   record::AttemptRecord& record) const;
  void NoteRejectors(const runtime::PreFilterOutcome& pre_filter, const runtime::Profile& profile,
                     ScheduleResult& decision) const;
  // Asks the PostFilter plugins and completes the record of a pod that fits nowhere.
  void NothingFits(const framework::Attempt& attempt, const runtime::Profile& profile,
                   const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                   ScheduleResult& decision);
  void EvaluateNominatedNode(const framework::Attempt& attempt, const runtime::Profile& profile,
                          const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                          const RowSet& candidates, record::AttemptRecord& record);
  void RecordVerdicts(const runtime::Profile& profile, record::AttemptRecord& record) const;
  // What extenders say of the feasible nodes (extenders.cpp). False if the decision is complete.
  bool PassExtenders(const framework::Attempt& attempt, const runtime::Profile& profile,
                     const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                     ScheduleResult& decision);
  bool PassesExtendersAlone(const framework::Attempt& attempt, const ClusterView& cluster,
                            const RowSet& alone);
  void RecordReasons(const std::vector<extenders::FilterResult::NodeReason>& said, const RowSet* among,
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
  std::size_t next_start_ = 0;  // where sampling goes on

  std::optional<equivalence_cache::EquivalenceCache> memory_;
  equivalence_cache::EquivalenceClass* known_ = nullptr;  // of the attempt under way
  framework::ScratchPool scratch_;
  framework::FilterOutcome filtered_;
  std::vector<framework::ScoreColumn> columns_;
  runtime::SkippedPlugins skipped_;
  std::vector<WeightedScores> parts_;
  std::vector<std::uint16_t> light_totals_;
  std::vector<std::int64_t> totals_;
  std::vector<runtime::Nomination> relevant_;
  bool only_nominated_ = false;  // the pod's own nominated node passed: the search ended there
  std::string nominated_rejector_;
  std::vector<extenders::FilterResult::NodeReason> nominated_said_;  // by extenders, of the nominated node
};

}  // namespace berth::algorithm
