// Places pods by what nodes carry in truth: any number of measured signals, each with a weight in the score
// and a threshold beyond which a node is not taken.
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

// Score: the weighted mean of the signals' scores, 0 to 100, cut to a whole number; a signal of which nothing
// is known has no part in it, and with none known every node gets 0. Filter: a node is rejected for each
// signal that is beyond its threshold there, or would be with this pod. Pods of DaemonSets, and those that
// name their node, pass: they have nowhere else to go. Preemption does not help against load, so rejections
// are final for it; a node that cools down wakes the pods that wait.
class LoadAware final : public framework::PreFilterPlugin,
                        public framework::FilterPlugin,
                        public framework::ScorePartsPlugin,
                        public framework::ScorePlugin {
 public:
  static framework::Made Create(const framework::RawArgs& raw, framework::Handle& handle);
  LoadAware(const LoadAwareArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "LoadAware"; }
  framework::PreFilterAnswer PreFilter(const framework::Attempt& attempt) const override;
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
  // Works out the score of the row, or of all rows.
  void Refresh(std::optional<cluster::Row> row);
  void RefreshRow(cluster::Row row);

  framework::Handle& handle_;
  const bool reject_unknown_;
  std::vector<Part> parts_;
  bool any_threshold_ = false;
  std::int64_t weights_ = 0;          // of the signals of which something is known
  std::vector<std::uint8_t> scores_;  // by row, kept up to date: a decision copies them
};

}  // namespace berth::plugins
