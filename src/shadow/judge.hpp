// What Berth makes of another scheduler's choice, on the cluster as the cache shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "assembly/engine.hpp"
#include "core/current_view.hpp"
#include "shadow/comparison.hpp"

namespace berth::shadow {

// Decides as the scheduler would, over all nodes, and acts on nothing: while it decides, plugins see no
// running scheduler, so that preemption finds victims and drives nobody out. One thread: the loop's that owns
// the engine.
class Judge {
 public:
  // `percentage` is what the configuration gives for percentageOfNodesToScore: the other scheduler's, too.
  Judge(assembly::Engine& engine, std::int64_t percentage);

  framework::PodInfo Prepare(api::PodPtr pod) {
    return framework::PreparePod(std::move(pod), engine_.vocabulary());
  }
  // The pod as it was when it waited. Outcomes are those that one view of the cluster allows: not kRaced.
  Comparison Compare(const framework::PodInfo& pod, const runtime::Profile& profile, const Choice& theirs,
                     std::span<const runtime::Nomination> nominations);

 private:
  struct Trial;
  void CompareNodes(const Trial& trial, Comparison& comparison);
  void NoteTotals(const record::AttemptRecord& record, framework::Row theirs, Comparison& comparison) const;
  void CompareFailures(const Trial& trial, Comparison& comparison) const;
  // Whether kube-scheduler's sampling can have left out all better nodes, and how that is known.
  std::optional<std::string> Sampled(const Trial& trial, framework::Row theirs, const Comparison& comparison);
  std::optional<std::string> RunThatPrefers(const Trial& trial, framework::Row theirs, std::size_t wanted);
  bool BestOfRun(const Trial& trial, framework::Row theirs, std::size_t start);
  std::int64_t PercentageOf(const runtime::Profile& profile) const {
    return profile.percentage_of_nodes_to_score().value_or(percentage_);
  }

  assembly::Engine& engine_;
  const std::int64_t percentage_;
  core::Decider decider_;
  core::CurrentView view_;
};

// The reasons in a FailedScheduling message without their numbers: equal if two messages differ in nothing
// but how many nodes have each.
std::string ReasonsWithoutCounts(std::string_view message);

}  // namespace berth::shadow
