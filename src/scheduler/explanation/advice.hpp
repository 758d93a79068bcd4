// Verified advice: proposals are applied to the cluster or the pod, and kept if the pod fits then.
#pragma once

#include <vector>

#include "scheduler/assembly/pod_evaluator.hpp"
#include "scheduler/explanation/explanation.hpp"
#include "scheduler/explanation/fixes.hpp"

namespace berth::explanation {

// For a pod that fits no node. `groups` in the order of closeness; the first few are considered. Runs a
// bounded number of evaluations (about 60), each with the changed cluster, and leaves the cluster as it was.
// `attempt` is the record of the pod. The easiest advice comes first; at most eight.
std::vector<Advice> FindAdvice(assembly::PodEvaluator& evaluator, const Situation& at,
                               const std::vector<RowGroup>& groups, const record::AttemptRecord& attempt);

// For a pod that PreFilter rejects, whatever the node.
std::vector<Advice> AdviceForPod(assembly::PodEvaluator& evaluator, const Situation& at);

// For a pod that was not evaluated because of its scheduling gates, its scheduler name or its group.
std::vector<Advice> AdviceToAdmit(assembly::PodEvaluator& evaluator, const api::PodPtr& pod);

// The nodes that fit after the change, sorted.
std::vector<std::string> FittingNodes(assembly::PodEvaluator& evaluator, const api::PodPtr& pod,
                                      const Change& change);

}  // namespace berth::explanation
