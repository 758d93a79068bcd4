// The decision: which node for this pod, and why no other. Reads the cluster, writes nothing but its own
// record.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "class_memory/class_memory.hpp"
#include "core/totals.hpp"
#include "extender/extenders.hpp"
#include "framework/plugin.hpp"
#include "record/attempt_record.hpp"
#include "runtime/profile.hpp"

namespace berth::core {

enum class TieBreak { kRandom, kFirstByName };

struct DeciderOptions {
  // Of how many nodes a feasible one must be among to be scored, in percent; 0 and 100: all. Profiles may
  // override.
  std::int64_t percentage_of_nodes_to_score = 0;
  bool sample = true;     // false: look at all nodes whatever the percentages say
  bool adaptive = false;  // 0 means kube-scheduler's share, which shrinks with the size of the cluster
  TieBreak tie_break = TieBreak::kRandom;
  bool score_parts = false;  // keep what scores are made of, too
  // For what is known of shapes of pods; 0: nothing is remembered.
  std::size_t class_memory_bytes = 64u << 20;
  std::uint64_t seed = 1;
};

struct Decision {
  std::shared_ptr<record::AttemptRecord> record;  // its result says how it ended
  framework::Row row = framework::kNoRow;         // of the chosen node
  framework::CycleState state;                    // what the plugins remember
  std::vector<std::string> rejectors;             // plugins whose events may free the pod; empty after errors
  std::vector<std::string> pending;               // those of them that answered Pending
  // After a failure: the node the pod is nominated to from now on, empty for none; nothing keeps what was.
  std::optional<std::string> nominate;
  bool abandoned = false;  // an extender's answer was not waited for: nothing has been decided
};

// What of the cluster a decision reads. Node names are shared with the records.
struct ClusterView {
  framework::NodeTable& nodes;  // not const: nominated pods are overlaid while filters run
  std::span<const framework::Row> visiting_order;
  std::shared_ptr<const record::NodeNames> names;
};

// The names of the nodes by row, for records to share until a node comes or goes.
std::shared_ptr<const record::NodeNames> NamesOf(const framework::NodeTable& nodes);

// With how many feasible ones of so many nodes kube-scheduler is content; 0 percent: its share, which shrinks
// with the size of the cluster.
std::size_t NodesToFind(std::int64_t percentage, std::size_t nodes);

// Keeps buffers from decision to decision. One thread.
class Decider {
 public:
  // `extenders` (null: there are none) have their say after the plugins.
  Decider(DeciderOptions options, const framework::Reasons& reasons, extender::Extenders* extenders = nullptr)
      : options_(options),
        reasons_(reasons),
        extenders_(extenders != nullptr && !extenders->empty() ? extenders : nullptr),
        random_(options.seed) {
    if (options.class_memory_bytes > 0) memory_.emplace(options.class_memory_bytes);
  }

  // `nominations`: pods promised a node, of whatever priority; the pod's own is ignored. Waits for extenders.
  Decision Decide(const framework::PodInfo& pod, const runtime::Profile& profile, const ClusterView& cluster,
                  std::span<const runtime::Nomination> nominations);

 private:
  class WhatIfRun;

  void DecideNode(const framework::PodInfo& pod, const runtime::Profile& profile, const ClusterView& cluster,
                  std::span<const runtime::Nomination> nominations, Decision& decision);
  bool FindFeasible(const framework::Attempt& attempt, const runtime::Profile& profile,
                    const ClusterView& cluster, std::span<const runtime::Nomination> nominations,
                    Decision& decision);
  bool LooksAtAll(const runtime::Profile& profile) const;
  // What is known of the pod's shape; null if the pod has to be judged by itself.
  class_memory::KnownClass* Recall(const framework::PodInfo& pod, const runtime::Profile& profile);
  framework::Row ChooseFrom(class_memory::KnownClass& known, record::AttemptRecord& record);
  const framework::Status& FirstError(const ClusterView& cluster) const;
  bool PassesPreFilter(const framework::Attempt& attempt, const runtime::Profile& profile,
                       const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                       Decision& decision);
  void NoteLeftOut(const runtime::PreFilterOutcome& pre_filter, const RowSet& candidates,
                   record::AttemptRecord& record) const;
  void NoteRejectors(const runtime::PreFilterOutcome& pre_filter, const runtime::Profile& profile,
                     Decision& decision) const;
  // Asks the PostFilter plugins and completes the record of a pod that fits nowhere.
  void NothingFits(const framework::Attempt& attempt, const runtime::Profile& profile,
                   const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                   Decision& decision);
  void JudgeNominatedNode(const framework::Attempt& attempt, const runtime::Profile& profile,
                          const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                          const RowSet& candidates, record::AttemptRecord& record);
  void KeepVerdicts(const runtime::Profile& profile, record::AttemptRecord& record) const;
  // What extenders say of the feasible nodes (extenders.cpp). False if the decision is complete.
  bool PassExtenders(const framework::Attempt& attempt, const runtime::Profile& profile,
                     const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                     Decision& decision);
  bool PassesExtendersAlone(const framework::Attempt& attempt, const ClusterView& cluster,
                            const RowSet& alone);
  void KeepWords(const std::vector<extender::FilterResult::Said>& said, const RowSet* among,
                 const ClusterView& cluster, record::AttemptRecord& record);
  void AddContributions(const framework::Attempt& attempt, const ClusterView& cluster,
                        record::AttemptRecord& record, RowSet& preferred);
  void Sample(const runtime::Profile& profile, const ClusterView& cluster, const RowSet& candidates,
              RowSet& feasible);
  framework::Status ScoreFeasible(const framework::Attempt& attempt, const runtime::Profile& profile,
                                  const ClusterView& cluster, record::AttemptRecord& record);
  void ChooseBest(const framework::Attempt& attempt, const ClusterView& cluster,
                  record::AttemptRecord& record);
  framework::Row Choose(const record::AttemptRecord& record);

  DeciderOptions options_;
  const framework::Reasons& reasons_;
  extender::Extenders* const extenders_;
  Random random_;
  std::size_t next_start_ = 0;  // where sampling goes on

  std::optional<class_memory::ClassMemory> memory_;
  class_memory::KnownClass* known_ = nullptr;  // of the attempt under way
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
  std::vector<extender::FilterResult::Said> nominated_said_;  // by extenders, of the nominated node
};

}  // namespace berth::core
