// Compares another scheduler's decision with Berth's, in the cluster state of the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "scheduler/algorithm/current_view.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "tools/shadow/claims.hpp"
#include "tools/shadow/comparison.hpp"

namespace berth::shadow {

// Schedules over all nodes like the scheduler. The engine must have ports without effects
// (assembly::DryRunPorts). Preemption selects victims; nothing evicts them. One thread: the loop that owns
// the engine.
class Evaluator {
 public:
  // `percentage`: percentageOfNodesToScore of the configuration, which both schedulers use.
  Evaluator(assembly::Engine& engine, std::int64_t percentage);

  cluster::PodInfo Prepare(api::PodPtr pod) { return cluster::PreparePod(std::move(pod), engine_.symbols()); }
  // `pod` is the pod while it was pending; `claims` were allocated for it and are evaluated without the
  // allocation. Never returns kRaced, which needs several cluster states.
  Comparison Compare(const cluster::PodInfo& pod, const runtime::Profile& profile, const Choice& reference,
                     std::span<const runtime::Nomination> nominations,
                     std::span<const AllocatedClaim> claims);
  // Removes cached results that were not used since the last call, and what they keep.
  void ReleaseUnused() { algorithm_.ReleaseUnused(); }

 private:
  struct Evaluation;
  class WithoutAllocations;
  void CompareNodes(const Evaluation& trial, Comparison& comparison);
  void CompareDevices(Evaluation& trial, std::span<const AllocatedClaim> claims,
                      Comparison& comparison) const;
  void NoteTotals(const record::AttemptRecord& record, cluster::Row reference, Comparison& comparison) const;
  void CompareFailures(const Evaluation& trial, Comparison& comparison) const;
  // Whether kube-scheduler's sampling may have left out all better nodes, with the explanation.
  std::optional<std::string> Sampled(const Evaluation& trial, cluster::Row reference,
                                     const Comparison& comparison);
  std::optional<std::string> RunThatPrefers(const Evaluation& trial, cluster::Row reference,
                                            std::size_t wanted);
  bool BestOfRun(const Evaluation& trial, cluster::Row reference, std::size_t start);
  std::int64_t PercentageOf(const runtime::Profile& profile) const {
    return profile.percentage_of_nodes_to_score().value_or(percentage_);
  }

  assembly::Engine& engine_;
  const std::int64_t percentage_;
  algorithm::SchedulingAlgorithm algorithm_;
  algorithm::CurrentView view_;
};

// The reasons in a FailedScheduling message without numbers: equal if two messages differ only in the number
// of nodes per reason.
std::string ReasonsWithoutCounts(std::string_view message);
// How many nodes more or fewer two such messages give for their reasons, in total; 0: for the same reasons
// the same numbers of nodes.
std::int64_t DifferenceOfCounts(std::string_view one, std::string_view other);

}  // namespace berth::shadow
