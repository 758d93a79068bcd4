// Dry runs of preemption: the minimal set of victims per node.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/interner.hpp"
#include "scheduler/cluster/overlay.hpp"
#include "scheduler/framework/filter_outcome.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/default_preemption/candidates.hpp"
#include "scheduler/plugins/default_preemption/disruption_budgets.hpp"
#include "scheduler/plugins/default_preemption/eviction_check.hpp"
#include "scheduler/plugins/default_preemption/importance.hpp"
#include "scheduler/plugins/default_preemption/preemption_steps.hpp"
#include "scheduler/plugins/default_preemption/victim_units.hpp"

namespace berth::plugins {

// Reuses its buffers between runs. Scheduler loop only.
//
// On each node, all pods of lower priority are removed, except those that plugins protect. If the pod fits
// then, they are added back one by one as long as it still fits: first those whose eviction violates a
// budget, then the others, each group by descending importance. Pods that cannot be added back are the
// victims. If no plugin has PreFilter extensions, many nodes are evaluated together: one filter run for the
// first pod of all nodes, one for the second, and so on. Both ways give the same result. Nodes with members
// of pod groups are evaluated by units (victim_units.hpp) instead of pods: a unit that spans nodes changes
// only this node and what plugins count elsewhere.
class DryRun {
 public:
  DryRun(const framework::Reasons& reasons, Importance& importance, DisruptionBudgets& budgets,
         VictimUnits& units)
      : reasons_(reasons), importance_(importance), budgets_(budgets), units_(units) {}

  // Evaluates the rows in this order until there are `wanted` candidates, one of them without violations.
  void Run(const framework::Attempt& attempt, framework::PostFilterServices& services, EvictionCheck& check,
           std::span<const cluster::Row> rows, std::size_t wanted);

  // The candidates of the last run; those without violations come first.
  std::vector<Candidate>& candidates() { return candidates_; }
  // The reasons why other rows are not candidates: number of nodes per reason.
  const ReasonCounts& reasons() const { return counts_; }
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  // One row with pods of lower priority.
  struct DryRunNode {
    cluster::Row row = cluster::kNoRow;
    std::span<const Importance::Entry> pods;  // the pods that were removed
    std::size_t first = 0;                    // index of its first pod in order_ and victim_
    std::size_t violating = 0;                // number of its pods, at the beginning, that violate a budget
    bool fits = false;                        // without any of these pods
    std::vector<VictimUnit> units = {};       // instead of pods, if members of groups are there
    std::vector<VictimUnit> evicted = {};     // of the units, most important first
    Refusals refusals = {};                   // of pods that stay
    std::vector<Importance::Entry> unprotected = {};  // `pods`, if plugins protect some
    std::size_t end() const { return first + pods.size(); }
  };
  // Adds the row to the trials, if it has pods that may be evicted.
  void AddTrial(cluster::Row row, std::int32_t priority, EvictionCheck& check);
  // Returns false if a plugin failed.
  bool LeaveOutProtected(EvictionCheck& check, DryRunNode& trial);
  void RunCombined(const framework::Attempt& attempt, framework::PostFilterServices& services);
  void RunSeparately(const framework::Attempt& attempt, framework::PostFilterServices& services,
                     DryRunNode& trial);
  framework::Status Reprieve(const framework::Attempt& attempt, framework::PostFilterServices& services,
                             DryRunNode& trial, cluster::NodeTable::Overlay& overlay);
  // The same by units.
  void RunByUnits(const framework::Attempt& attempt, framework::PostFilterServices& services,
                  DryRunNode& trial);
  framework::Status ReprieveUnits(const framework::Attempt& attempt, framework::PostFilterServices& services,
                                  DryRunNode& trial, cluster::NodeTable::Overlay& overlay);
  // Takes the pods of the unit off the trial's row, or puts them back there, and tells plugins about all of
  // them.
  static framework::Status Remove(const VictimUnit& unit, cluster::Row row, const framework::Attempt& attempt,
                                  framework::PostFilterServices& services,
                                  cluster::NodeTable::Overlay& overlay);
  static framework::Status PutBack(const VictimUnit& unit, cluster::Row row,
                                   const framework::Attempt& attempt, framework::PostFilterServices& services,
                                   cluster::NodeTable::Overlay& overlay);
  void Order(DryRunNode& trial);
  // Of the last run of filters, on these rows.
  void NoteRejections(std::span<const DryRunNode> trials);
  // Appends the trial's candidate, if it is one.
  void Collect(const DryRunNode& trial, const cluster::NodeTable& nodes, EvictionCheck& check,
               std::size_t wanted);
  Candidate CandidateOf(const DryRunNode& trial);
  cluster::PlacedPod& PodAt(const DryRunNode& trial, std::size_t at) const {
    return *trial.pods[order_[at]].pod;
  }

  const framework::Reasons& reasons_;
  Importance& importance_;
  DisruptionBudgets& budgets_;
  VictimUnits& units_;

  std::vector<DryRunNode> trials_;
  std::vector<std::uint32_t> order_;  // order in which a trial's pods are added back: indexes into its pods
  std::vector<std::uint32_t> harmless_;
  std::vector<char> victim_;  // parallel to order_
  std::vector<Importance::Entry> entries_;
  framework::FilterOutcome outcome_;
  std::vector<Candidate> candidates_, violating_;
  ReasonCounts counts_;
  std::vector<std::string> errors_;
};

}  // namespace berth::plugins
