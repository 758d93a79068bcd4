// Evaluates requests of another scheduler with a profile: feasible nodes, scores, and whether the eviction of
// victims helps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/assembly/engine.hpp"
#include "scheduler/runtime/profile.hpp"
#include "tools/extender_server/requests.hpp"

namespace berth::extender_server {

struct EvaluatorOptions {
  std::string profile;  // profile name; empty: that of the pod's schedulerName, or else the first
  // scale scores so that the best node gets 10 and the worst 0, however small the difference
  bool stretch = false;
};

// The result of a filter request; nodes are indexes in the request.
struct FilterVerdict {
  struct Failed {
    std::size_t node = 0;
    std::string reason;
    bool unresolvable = false;  // evicting pods cannot help
  };
  std::vector<std::size_t> passed;
  std::vector<Failed> failed;
  std::string error;  // no node could be evaluated
};

// Uses the cluster as received from the API server. The nodes of a request are only identifiers, because they
// contain neither pods nor load metrics. Belongs to the loop that owns the engine.
class Evaluator {
 public:
  static constexpr std::int64_t kHighestScore = 10;  // kube-scheduler's MaxExtenderPriority

  Evaluator(assembly::Engine& engine, EvaluatorOptions options)
      : engine_(engine), options_(std::move(options)) {}

  // PreFilter and Filter, with the same reasons as Berth's own events. A node that is unknown to this process
  // is rejected as unresolvable, because evicting pods does not make it known.
  FilterVerdict Filter(const NodesRequest& request, std::span<const runtime::Nomination> nominations);

  // PreScore, Score, Normalize and weights. Totals are scaled to 0..10: the sum of score times weight,
  // divided by the sum of all weights of the profile times ten. All nodes get 0 if PreFilter rejects the pod;
  // unknown nodes get 0. By index of the request's nodes.
  Expected<std::vector<std::int64_t>> Prioritize(const NodesRequest& request);

  // Indexes of the request's nodes on which the pod passes the filters without the victims. Victims that no
  // longer exist are ignored; unknown nodes and nodes without victims are not included.
  Expected<std::vector<std::size_t>> Preempt(const PreemptRequest& request,
                                             std::span<const runtime::Nomination> nominations);

 private:
  struct Evaluation;
  const runtime::Profile& ProfileOf(const api::Pod& pod) const;
  bool FitsWithout(const Evaluation& evaluation, cluster::Row row, const NodeVictims& victims);
  std::vector<std::int64_t> Scaled(const RowSet& rows, const runtime::Profile& profile) const;

  assembly::Engine& engine_;
  const EvaluatorOptions options_;
  framework::ScratchPool scratch_;
  framework::FilterOutcome outcome_;
  std::vector<framework::ScoreColumn> columns_;
  runtime::SkippedPlugins skipped_;
};

}  // namespace berth::extender_server
