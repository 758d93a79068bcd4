// spec.nodeSelector and spec.affinity.nodeAffinity, and the affinity that a profile adds to every pod.
#pragma once

#include "scheduler/cluster/node_selection.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/node_affinity/node_affinity_args.hpp"

namespace berth::plugins {

class NodeAffinity final : public framework::PreFilterPlugin,
                           public framework::FilterPlugin,
                           public framework::PreScorePlugin,
                           public framework::ScorePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& args, framework::Handle& handle);
  NodeAffinity(const NodeAffinityArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "NodeAffinity"; }
  bool StateIsDerived() const override { return true; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  framework::ResultDependency FilterDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  framework::Status PreScore(const framework::Attempt& attempt, const RowSet& feasible) const override;
  framework::ResultDependency PreScoreDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::ResultDependency ScoreDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  framework::Normalization normalization() const override { return framework::Normalization::kByMaximum; }
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  // Before: null if the node was added.
  Expected<framework::Hint> AfterNode(const cluster::PodInfo& pod, const api::Node* before,
                                      const api::Node& after) const;

  const cluster::SymbolTable& symbols_;
  framework::ReasonId pod_reason_;
  framework::ReasonId enforced_reason_;
  bool has_added_required_ = false;
  std::vector<cluster::CompiledTerm> added_required_;
  bool has_added_preferred_ = false;
  std::vector<cluster::CompiledPreference> added_preferred_;
  cluster::SymbolLease added_symbols_;
};

}  // namespace berth::plugins
