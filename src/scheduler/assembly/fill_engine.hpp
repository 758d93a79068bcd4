// Adds the objects of a cluster to an engine that only evaluates pods.
#pragma once

#include <vector>

#include "kubernetes/ports/ports.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/pod_evaluator.hpp"

namespace berth::assembly {

struct ClusterContents {
  std::vector<api::NodePtr> nodes;
  std::vector<api::PodPtr> pods;
  std::vector<ports::ClusterChange> others;  // objects of all other kinds, created
};

// Objects are added in the order of their names, so that decisions do not depend on that of the input. Pods
// that have ended are left out. Pods without a node become members of their groups and, if they are
// nominated, count on their nodes.
void FillEngine(Engine& engine, PodEvaluator& evaluator, ClusterContents contents);

}  // namespace berth::assembly
