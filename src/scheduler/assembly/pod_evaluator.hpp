// Evaluates single pods against the cluster of an engine, without effects: the filters, scores and preemption
// of a scheduling attempt.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/assembly/engine.hpp"
#include "scheduler/record/attempt_record.hpp"

namespace berth::assembly {

// The engine must outlive it. The cluster may change between evaluations. Same thread as the engine.
class PodEvaluator {
 public:
  // All nodes are evaluated, whatever the configuration's percentages; of equal nodes the first by name is
  // selected.
  explicit PodEvaluator(Engine& engine);

  // A pod without a node that has status.nominatedNodeName. It counts as placed there for pods of at most its
  // priority. Ignored if no profile has its scheduler name.
  void AddNominated(const api::PodPtr& pod);
  // Replaces all nominations: pods without a node with the names of their nodes, whatever their status says.
  // Pods that are in the list again are not prepared again.
  void SetNominated(std::span<const std::pair<api::PodPtr, std::string_view>> pods);

  // A complete attempt. `info` receives the prepared pod; its `pod` is null if no profile is responsible or
  // the pod is gated.
  std::shared_ptr<const record::AttemptRecord> Evaluate(const api::PodPtr& pod, cluster::PodInfo& info);
  // Calls `visit` once if a profile is responsible for the pod and no node fits: with the rows on which
  // evictions could help, and the profile's preemption on some of them.
  void TryPreemption(const api::PodPtr& pod, const algorithm::SchedulingAlgorithm::VisitPostFilter& visit);
  // Only the nodes that fit: no preemption, and no scores in the record.
  std::shared_ptr<const record::AttemptRecord> EvaluateFit(const api::PodPtr& pod);

  // The rows of all nodes in the order of their names. Valid until a node is added or removed.
  std::span<const cluster::Row> RowsByName();

  const Engine& engine() const { return engine_; }
  Engine& engine() { return engine_; }

 private:
  // A record without an attempt, if the pod is not scheduled by this engine or is gated; else null, and
  // `info` is set.
  std::shared_ptr<record::AttemptRecord> Prepare(const api::PodPtr& pod, cluster::PodInfo& info);
  algorithm::ClusterView View();

  Engine& engine_;
  algorithm::SchedulingAlgorithm algorithm_;
  std::map<api::PodPtr, std::unique_ptr<cluster::PodInfo>> nominated_;
  std::vector<runtime::Nomination> nominations_;
  std::shared_ptr<const record::NodeNames> names_;
  std::uint64_t names_generation_ = 0;  // of the nodes in names_
  std::vector<cluster::Row> by_name_;
  std::uint64_t by_name_generation_ = 0;
};

}  // namespace berth::assembly
