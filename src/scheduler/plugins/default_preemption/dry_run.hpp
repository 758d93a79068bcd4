// Which pods would have to leave which node, found out by imagining them gone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/default_preemption/candidates.hpp"
#include "scheduler/plugins/default_preemption/disruption_budgets.hpp"
#include "scheduler/plugins/default_preemption/importance.hpp"

namespace berth::plugins {

// Keeps its buffers from run to run. One thread: the scheduler loop's.
//
// On each node all pods of lower priority are taken away; if the pod fits then, they come back one by one as
// long as it still does: first those whose budget would be broken, then the others, each the most important
// first. Who cannot come back is a victim. As long as no plugin looks beyond the node that it judges, many
// nodes are tried at the same time: a round of filters for everybody's first pod, one for the second, and so
// on. Both ways give the same.
class DryRun {
 public:
  DryRun(const framework::Reasons& reasons, Importance& importance, DisruptionBudgets& budgets)
      : reasons_(reasons), importance_(importance), budgets_(budgets) {}

  // Tries the rows in this order until there are `wanted` candidates, one of them without broken budgets.
  void Run(const framework::Attempt& attempt, framework::WhatIf& what_if,
           std::span<const cluster::Row> rows, std::size_t wanted);

  // What came of the last run. Candidates without broken budgets come first.
  std::vector<Candidate>& candidates() { return candidates_; }
  // Why the other rows are none: nodes per reason.
  const std::map<std::string, std::size_t, std::less<>>& reasons() const { return counts_; }
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  // One row with pods of lower priority.
  struct DryRunNode {
    cluster::Row row = cluster::kNoRow;
    std::span<const Importance::Entry> pods;  // that were taken away
    std::size_t first = 0;                    // of its pods in order_ and victim_
    std::size_t violating = 0;                // how many of them, the first ones, would break a budget
    bool fits = false;                        // without any of them
    std::size_t end() const { return first + pods.size(); }
  };
  void TryTogether(const framework::Attempt& attempt, framework::WhatIf& what_if);
  void TryAlone(const framework::Attempt& attempt, framework::WhatIf& what_if, DryRunNode& trial);
  framework::Status ComeBack(const framework::Attempt& attempt, framework::WhatIf& what_if, DryRunNode& trial,
                             cluster::NodeTable::Overlay& overlay);
  void Order(DryRunNode& trial);
  void CountRejections();
  // The trial's outcome; nothing happens if it is no candidate.
  void Collect(const DryRunNode& trial, const cluster::NodeTable& nodes, std::size_t wanted);
  cluster::PlacedPod& PodAt(const DryRunNode& trial, std::size_t at) const {
    return *trial.pods[order_[at]].pod;
  }

  const framework::Reasons& reasons_;
  Importance& importance_;
  DisruptionBudgets& budgets_;

  std::vector<DryRunNode> trials_;
  std::vector<std::uint32_t> order_;  // in which a trial's pods come back: indices into its pods
  std::vector<std::uint32_t> harmless_;
  std::vector<char> victim_;  // beside order_
  framework::FilterOutcome outcome_;
  std::vector<Candidate> candidates_, violating_;
  std::map<std::string, std::size_t, std::less<>> counts_;
  std::vector<std::string> errors_;
};

}  // namespace berth::plugins
