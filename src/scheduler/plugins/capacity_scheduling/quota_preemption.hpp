// Dry runs of preemption under the rules of elastic quotas (scheduler-plugins v0.33.5,
// pkg/capacityscheduling).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scheduler/framework/filter_outcome.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_rules.hpp"
#include "scheduler/plugins/default_preemption/candidates.hpp"
#include "scheduler/plugins/default_preemption/disruption_budgets.hpp"
#include "scheduler/plugins/default_preemption/eviction_check.hpp"
#include "scheduler/plugins/default_preemption/preemption_steps.hpp"

namespace berth::plugins {

// QuotaRules define which pods may be evicted for a pod. Pods that plugins protect stay. On each node, the
// others are removed, the least important first. If the pod fits then, and no quota is exceeded, they are
// added back as long as that remains so: first those whose eviction violates a budget, then the others, each
// part by descending importance. Pods that cannot be added back are the victims. Members of pod groups are
// evicted one by one.
//
// Reuses its buffers between runs. Scheduler loop only.
class QuotaPreemption {
 public:
  // All must outlive this object.
  QuotaPreemption(const framework::Reasons& reasons, const QuotaRules& rules, DisruptionBudgets& budgets)
      : reasons_(reasons), rules_(rules), budgets_(budgets) {}

  // The reason why the pod must not preempt: its policy, or a pod that leaves its nominated node already;
  // empty if it may.
  std::string_view Ineligible(const framework::Attempt& attempt,
                              const framework::FilterOutcome& verdicts) const;
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

  const framework::Reasons& reasons_;
  const QuotaRules& rules_;
  DisruptionBudgets& budgets_;
  std::vector<Candidate> candidates_, violating_;
  ReasonCounts counts_;
  std::vector<std::string> errors_;
  framework::FilterOutcome outcome_;
};

}  // namespace berth::plugins
