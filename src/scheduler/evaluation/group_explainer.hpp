// Explains a pod group, or a tree of composite groups, on an engine's cluster: its members are decided
// together, as the scheduler does it.
#pragma once

#include <optional>
#include <string>

#include "scheduler/assembly/pod_evaluator.hpp"
#include "scheduler/explanation/explanation.hpp"

namespace berth::evaluation {

// The key (cluster::KeyOf) of the pod's group, or of the highest known group of its tree; nullopt: the pod is
// scheduled on its own. Names of groups of other projects are qualified (api::PodGroup).
std::optional<std::string> GroupOf(assembly::PodEvaluator& evaluator, const api::Pod& pod);

// `key` is a result of GroupOf for a pod that was added to the engine's groups. Members are tried in the
// order of priority and name. Nominations of other pods are not considered. The cluster is changed during the
// call, and restored. Bounded by the number of members times the number of advices (at most eight) plus an
// explanation of one pod.
explanation::GroupExplanation ExplainGroup(assembly::PodEvaluator& evaluator, const std::string& key);

}  // namespace berth::evaluation
