// Dry runs of preemption under the rules of elastic quotas (scheduler-plugins v0.33.5,
// pkg/capacityscheduling).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scheduler/framework/filter_outcome.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_trial.hpp"
#include "scheduler/plugins/default_preemption/candidates.hpp"
#include "scheduler/plugins/default_preemption/disruption_budgets.hpp"
#include "scheduler/plugins/default_preemption/eviction_check.hpp"
#include "scheduler/plugins/default_preemption/preemption_steps.hpp"

namespace berth::plugins {

// Which pods may be evicted for a pod:
//   without a quota        less important pods without a quota
//   within its minimum     pods of namespaces that use more than their minimum, until they no longer do
//   beyond its minimum     less important pods of the same namespace
// Pods that plugins protect stay. On each node, the others are removed, the least important first. If the pod
// fits then, and neither the maximum of its quota nor the sum of all minimums is exceeded, they are added
// back as long as that remains so: first those whose eviction violates a budget, then the others, each part
// by descending importance. Pods that cannot be added back are the victims. Members of pod groups are evicted
// one by one.
//
// Reuses its buffers between runs. Scheduler loop only.
class QuotaPreemption {
 public:
  // All must outlive this object.
  QuotaPreemption(const framework::Reasons& reasons, const QuotaLedger& ledger,
                  framework::StateKey<QuotaTrial> trial, DisruptionBudgets& budgets)
      : reasons_(reasons), ledger_(ledger), trial_(trial), budgets_(budgets) {}

  // The reason why the pod must not preempt: its policy, or a pod that leaves its nominated node already;
  // empty if it may.
  std::string_view Ineligible(const framework::Attempt& attempt,
                              const framework::FilterOutcome& verdicts) const;
  // Whether the pod's namespace has a quota, and is within its minimum with the pod.
  bool IsWithinMin(const framework::Attempt& attempt) const;
  // Evaluates all rows.
  void Run(const framework::Attempt& attempt, framework::PostFilterServices& services, EvictionCheck& check,
           std::span<const cluster::Row> rows);

  // The candidates of the last run; those without violations come first.
  std::vector<Candidate>& candidates() { return candidates_; }
  // Why other rows are no candidates.
  const ReasonCounts& reasons() const { return counts_; }
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  class NodeRun;
  // Whether the pod, which has no quota or is beyond or within its minimum, may evict `other`.
  enum class Claim { kNoQuota, kWithinMin, kBeyondMin };
  Claim ClaimOf(const framework::Attempt& attempt) const;
  bool MayEvict(Claim claim, const framework::Attempt& attempt, const api::Pod& other) const;
  bool MakesRoom(Claim claim, const framework::Attempt& attempt, const api::Pod& leaving) const;
  const QuotaTrial& TrialOf(const framework::Attempt& attempt) const;

  const framework::Reasons& reasons_;
  const QuotaLedger& ledger_;
  const framework::StateKey<QuotaTrial> trial_;
  DisruptionBudgets& budgets_;
  std::vector<Candidate> candidates_, violating_;
  ReasonCounts counts_;
  std::vector<std::string> errors_;
  framework::FilterOutcome outcome_;
};

}  // namespace berth::plugins
