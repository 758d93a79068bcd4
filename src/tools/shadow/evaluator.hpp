// What Berth makes of another scheduler's choice, on the cluster as the cache shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "scheduler/assembly/engine.hpp"
#include "scheduler/algorithm/current_view.hpp"
#include "tools/shadow/comparison.hpp"

namespace berth::shadow {

// Decides as the scheduler would, over all nodes, and acts on nothing: while it decides, plugins see no
// running scheduler, so that preemption finds victims and drives nobody out. One thread: the loop's that owns
// the engine.
class Evaluator {
 public:
  // `percentage` is what the configuration gives for percentageOfNodesToScore: the other scheduler's, too.
  Evaluator(assembly::Engine& engine, std::int64_t percentage);

  cluster::PodInfo Prepare(api::PodPtr pod) {
    return cluster::PreparePod(std::move(pod), engine_.symbols());
  }
  // The pod as it was when it waited. Outcomes are those that one view of the cluster allows: not kRaced.
  Comparison Compare(const cluster::PodInfo& pod, const runtime::Profile& profile, const Choice& theirs,
                     std::span<const runtime::Nomination> nominations);

 private:
  struct Evaluation;
  void CompareNodes(const Evaluation& trial, Comparison& comparison);
  void NoteTotals(const record::AttemptRecord& record, cluster::Row theirs, Comparison& comparison) const;
  void CompareFailures(const Evaluation& trial, Comparison& comparison) const;
  // Whether kube-scheduler's sampling can have left out all better nodes, and how that is known.
  std::optional<std::string> Sampled(const Evaluation& trial, cluster::Row theirs, const Comparison& comparison);
  std::optional<std::string> RunThatPrefers(const Evaluation& trial, cluster::Row theirs, std::size_t wanted);
  bool BestOfRun(const Evaluation& trial, cluster::Row theirs, std::size_t start);
  std::int64_t PercentageOf(const runtime::Profile& profile) const {
    return profile.percentage_of_nodes_to_score().value_or(percentage_);
  }

  assembly::Engine& engine_;
  const std::int64_t percentage_;
  algorithm::SchedulingAlgorithm algorithm_;
  algorithm::CurrentView view_;
};

// The reasons in a FailedScheduling message without their numbers: equal if two messages differ in nothing
// but how many nodes have each.
std::string ReasonsWithoutCounts(std::string_view message);

}  // namespace berth::shadow
