// Places pods by the measured load of nodes: any number of signals, each with a weight in the score and a
// threshold above which nodes are rejected.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/score_parts.hpp"
#include "scheduler/plugins/load_aware/load_aware_args.hpp"
#include "scheduler/plugins/load_aware/load_signal.hpp"

namespace berth::plugins {

// Score: the weighted mean of the signals' scores, 0 to 100, truncated to an integer. Signals without values
// do not contribute; if no signal has values, every node gets 0. Filter: rejects a node for each signal that
// exceeds its threshold, or would with this pod. Pods of DaemonSets and pods that select a node by name pass,
// because they have no alternative. Rejections are unresolvable by preemption; a node that cools down
// requeues the pods that it rejected.
class LoadAware final : public framework::PreFilterPlugin,
                        public framework::FilterPlugin,
                        public framework::ScorePartsPlugin,
                        public framework::ScorePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  LoadAware(const LoadAwareArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "LoadAware"; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  std::vector<framework::ScorePart> ScoreParts(const framework::Attempt& attempt,
                                               const RowSet& feasible) const override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  struct Part {
    std::unique_ptr<LoadSignal> signal;
    framework::ReasonId too_high;
    framework::ReasonId unknown;
  };
  void Reject(const Part& part, const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const;
  // Computes the score of the row, or of all rows (nullopt).
  void Refresh(std::optional<cluster::Row> row);
  void RefreshRow(cluster::Row row);

  framework::Handle& handle_;
  const bool reject_unknown_;
  std::vector<Part> parts_;
  bool any_threshold_ = false;
  std::int64_t weights_ = 0;          // sum of the weights of signals with values
  std::vector<std::uint8_t> scores_;  // by row, maintained incrementally; Score copies it
};

}  // namespace berth::plugins
