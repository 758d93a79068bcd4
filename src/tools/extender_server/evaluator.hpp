// A profile's opinion on somebody else's decisions: which of these nodes will do, how good they are, whether
// these victims help.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/assembly/engine.hpp"
#include "tools/extender_server/questions.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::extender_server {

struct EvaluatorOptions {
  std::string profile;   // which judges; empty: the pod's schedulerName says, or else the first
  bool stretch = false;  // the best node gets 10 and the worst 0, however little they differ
};

// Nodes by their index in the question.
struct FilterVerdict {
  struct Failed {
    std::size_t node = 0;
    std::string why;
    bool unresolvable = false;  // no eviction helps
  };
  std::vector<std::size_t> passed;
  std::vector<Failed> failed;
  std::string error;  // nothing could be judged
};

// Looks at the cluster as the watches show it, never at the nodes of a question, which carry neither pods nor
// measurements. One thread: the loop's that owns the engine.
class Evaluator {
 public:
  static constexpr std::int64_t kHighestScore = 10;  // kube-scheduler's MaxExtenderPriority

  Evaluator(assembly::Engine& engine, EvaluatorOptions options) : engine_(engine), options_(std::move(options)) {}

  // PreFilter and Filter, with the reasons that an event of Berth's own would have. A node that no watch has
  // shown yet is rejected as unresolvable: evicting pods does not make it known.
  FilterVerdict Filter(const NodesQuestion& question, std::span<const runtime::Nomination> nominations);

  // PreScore, Score, Normalize and weights, brought from 0..100 per plugin to 0..10 for all together: the sum
  // of score times weight, over a hundred times the sum of all the profile's weights. Unknown nodes get 0,
  // and so do all where PreFilter rejects the pod. By index of the question's nodes.
  Expected<std::vector<std::int64_t>> Prioritize(const NodesQuestion& question);

  // The indices of the question's nodes on which the filters let the pod in once the victims are gone.
  // Victims that are gone already do no harm; nodes that are unknown, or named without victims, are not among
  // them.
  Expected<std::vector<std::size_t>> Preempt(const PreemptQuestion& question,
                                             std::span<const runtime::Nomination> nominations);

 private:
  struct Evaluation;
  const runtime::Profile& ProfileOf(const api::Pod& pod) const;
  bool FitsWithout(const Evaluation& trial, cluster::Row row, const NodeVictims& victims);
  std::vector<std::int64_t> Scaled(const RowSet& rows, const runtime::Profile& profile) const;

  assembly::Engine& engine_;
  const EvaluatorOptions options_;
  framework::ScratchPool scratch_;
  framework::FilterOutcome outcome_;
  std::vector<framework::ScoreColumn> columns_;
  runtime::SkippedPlugins skipped_;
};

}  // namespace berth::extender_server
