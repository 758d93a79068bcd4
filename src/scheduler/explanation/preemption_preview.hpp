// What preemption would evict for a pod that fits on no node, and why it selects these pods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/assembly/pod_evaluator.hpp"
#include "scheduler/record/attempt_record.hpp"

namespace berth::explanation {

struct PreemptionPreview {
  struct Victim {
    std::string pod;    // "namespace/name"
    std::string owner;  // as OwnerOf
    std::int32_t priority = 0;
    std::int64_t started = 0;  // Unix seconds; 0: it has not started
    std::string budget;        // a PodDisruptionBudget that allows no disruption of it now; empty: none
  };
  // A node on which the pod would fit after evictions.
  struct Candidate {
    std::string node;
    std::vector<Victim> victims;   // the most important first; at most kMostPreviewedVictims
    std::size_t victim_count = 0;  // all
    std::int64_t violations = 0;   // victims whose eviction violates a PodDisruptionBudget
    // Why preemption prefers the selected node; empty: this one is selected, or equally good.
    std::string drawback;
  };
  struct Refusal {
    std::string reason;     // kube-scheduler's or the plugin's: too few pods of lower priority, a protection
    std::size_t nodes = 0;  // that are no candidates for this reason
  };
  std::vector<Candidate> candidates;  // the selected one first, then by kube-scheduler's order
  std::size_t not_shown = 0;          // nodes that were not evaluated one by one
  std::vector<Refusal> refusals;      // most nodes first

  bool empty() const { return candidates.empty() && refusals.empty(); }
};

inline constexpr std::size_t kMostPreviewedNodes = 16;
inline constexpr std::size_t kMostPreviewedVictims = 20;

// Runs the profile's preemption again, on at most kMostPreviewedNodes single nodes: the selected one, equally
// good ones, then others by name. With extenders that take part in preemption only on the selected one. Has
// no effects. `record` is the pod's attempt on the same cluster, with explanations. Budgets of evictions and
// pauses of a running scheduler are unknown to an engine of its own.
PreemptionPreview PreviewPreemption(assembly::PodEvaluator& evaluator, const api::PodPtr& pod,
                                    const record::AttemptRecord& record);

}  // namespace berth::explanation
