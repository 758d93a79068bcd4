// Answers for a dump of a cluster: where would each pending pod go, and why nowhere else? Nothing is watched
// and nothing is written; the engine is the scheduler's own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/assembly/engine.hpp"
#include "scheduler/record/attempt_record.hpp"

namespace berth::assembly {

class Explainer {
 public:
  static Expected<std::unique_ptr<Explainer>> Create(const config::SchedulerConfig& config,
                                                     const runtime::Registry& registry,
                                                     std::vector<std::string>& notes,
                                                     const ExtenderAccess& access = {});
  ~Explainer();

  // Takes a file of objects, JSON or YAML; may be called repeatedly, later objects replace earlier ones of
  // the same name. Fails if the text cannot be read at all. `problems` receives what had to be left out:
  // "file: document 2, items[3]: Pod default/web: spec.containers[0].image: expected a string, got a number".
  Expected<void> Load(std::string_view text, const std::string& file, std::vector<std::string>& problems);

  // Puts what was loaded into the engine, once; Evaluate does so if nobody has.
  void FillCluster();

  // Judges every pod without a node, each alone against the same cluster, in the order of the input; those of
  // `only`
  // ("namespace/name"), if there are any. Errors name pods of `only` that are not in the input.
  struct Evaluated {
    std::shared_ptr<const record::AttemptRecord> record;
    const cluster::PodInfo* pod = nullptr;  // null if no profile judged it; valid during the call
  };
  Expected<void> Evaluate(const std::vector<std::string>& only, const std::function<void(const Evaluated&)>& tell);

  const Engine& engine() const { return *engine_; }
  Engine& engine() { return *engine_; }

 private:
  struct Input;
  Explainer();
  Evaluated JudgeOne(const api::PodPtr& pod, cluster::PodInfo& info);

  std::unique_ptr<ports::ApiWriter> discarded_metrics_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<algorithm::SchedulingAlgorithm> algorithm_;
  std::unique_ptr<Input> input_;
  std::vector<std::unique_ptr<cluster::PodInfo>> nominated_;
  std::vector<runtime::Nomination> nominations_;
  std::shared_ptr<const record::NodeNames> names_;
};

}  // namespace berth::assembly
