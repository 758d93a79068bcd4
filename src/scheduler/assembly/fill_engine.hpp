// Engines with the objects of a cluster, which only evaluate pods.
#pragma once

#include <memory>
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

// An engine with a copy of a cluster of its own. Same thread as the engine.
class FilledEngine {
 public:
  // Errors are those of the configuration. `notes`: texts for users.
  static Expected<std::unique_ptr<FilledEngine>> Build(const config::SchedulerConfig& config,
                                                       const runtime::Registry& plugins,
                                                       ClusterContents contents,
                                                       std::vector<std::string>& notes);

  Engine& engine() { return *engine_; }
  const Engine& engine() const { return *engine_; }
  PodEvaluator& evaluator() { return *evaluator_; }

 private:
  FilledEngine() = default;

  DryRunPorts ports_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<PodEvaluator> evaluator_;
};

}  // namespace berth::assembly
