// Explains one pod on an engine's cluster: where it would be placed, or why not and what would help.
#pragma once

#include <memory>
#include <string>

#include "scheduler/assembly/pod_evaluator.hpp"
#include "scheduler/explanation/change.hpp"
#include "scheduler/explanation/explanation.hpp"

namespace berth::explanation {

// A pod with a node is evaluated as if it were not there. The cluster is changed during the call, and
// restored. Bounded: a few dozen evaluations. An explanation of the decision loop's cluster needs a copy of
// it. No advice changes a node in a way for which `allows` returns false; other nodes are proposed instead.
Explanation ExplainPod(assembly::PodEvaluator& evaluator, const api::PodPtr& pod,
                       const AllowsNodeChange& allows = {});

// Only the attempt of ExplainPod.
std::shared_ptr<const record::AttemptRecord> EvaluatePod(assembly::PodEvaluator& evaluator,
                                                         const api::PodPtr& pod);

// "Deployment shop/web", "StatefulSet db/main"; empty: no controller. A ReplicaSet whose name ends with the
// pod's template hash belongs to a Deployment.
std::string OwnerOf(const api::Pod& pod);

}  // namespace berth::explanation
