// Explanations for a dump of a cluster: the node of each pending pod, and the reasons against all others.
// Uses the scheduler's engine; watches nothing and writes nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/loaded_cluster.hpp"
#include "scheduler/assembly/pod_evaluator.hpp"
#include "scheduler/record/attempt_record.hpp"

namespace berth::assembly {

class Explainer {
 public:
  static Expected<std::unique_ptr<Explainer>> Create(const config::SchedulerConfig& config,
                                                     const runtime::Registry& registry,
                                                     std::vector<std::string>& notes,
                                                     const ExtenderAccess& access = {});
  ~Explainer();

  // Loads a file of objects, JSON or YAML. May be called repeatedly; later objects replace earlier ones with
  // the same name. Fails if the text cannot be parsed. `problems` receives objects that were left out: "file:
  // document 2, items[3]: Pod default/web: spec.containers[0].image: expected a string, got a number".
  Expected<void> Load(std::string_view text, const std::string& file, std::vector<std::string>& problems);

  // Adds the loaded objects to the engine, once. Evaluate calls it if necessary.
  void FillCluster();

  // Evaluates every pod without a node, independently of each other against the same cluster, in input order.
  // If `only` ("namespace/name") is not empty, only these pods. The error names pods of `only` that are not
  // in the input. `visit` receives each result.
  struct Evaluated {
    std::shared_ptr<const record::AttemptRecord> record;
    const cluster::PodInfo* pod = nullptr;  // null if no profile is responsible; valid during the call
  };
  Expected<void> Evaluate(const std::vector<std::string>& only,
                          const std::function<void(const Evaluated&)>& visit);

  // All pods of the input, in its order.
  const std::vector<api::PodPtr>& pods() const;
  // Null if the input has no such pod ("namespace/name").
  api::PodPtr FindPod(const std::string& key) const;
  // The kinds of the objects that were loaded, with their number; also kinds that no scheduler reads.
  const std::map<std::string, std::size_t>& kinds() const;
  // Evaluates pods against the cluster of FillCluster, which must have been called.
  PodEvaluator& evaluator() { return *evaluator_; }

  const Engine& engine() const { return *engine_; }
  Engine& engine() { return *engine_; }

 private:
  Explainer();

  DryRunPorts ports_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<PodEvaluator> evaluator_;
  std::unique_ptr<LoadedCluster> input_;
  bool filled_ = false;
};

}  // namespace berth::assembly
