// Rejects nodes with a NoSchedule or NoExecute taint that the pod does not tolerate; prefers nodes with few
// PreferNoSchedule taints that it does not tolerate.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

// Adds the rows with a NoSchedule or NoExecute taint that the pod does not tolerate.
void AddUntolerated(const framework::Attempt& attempt, RowSet& out);

// Each distinct list of taints is evaluated once, independent of the number of nodes that have it.
class TaintToleration final : public framework::FilterPlugin,
                              public framework::PreScorePlugin,
                              public framework::ScorePlugin {
 public:
  explicit TaintToleration(framework::Handle& handle);
  std::string_view Name() const override { return "TaintToleration"; }
  bool StateIsDerived() const override { return true; }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  framework::ResultDependency FilterDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  framework::Status PreScore(const framework::Attempt&, const RowSet&) const override { return {}; }
  framework::ResultDependency PreScoreDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::ResultDependency ScoreDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  framework::Normalization normalization() const override {
    return framework::Normalization::kByMaximumReversed;
  }
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  framework::ReasonId reason_;
};

}  // namespace berth::plugins
