// Places pods by the measured load of nodes: any number of signals, each with a weight in the score and a
// threshold above which nodes are rejected.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/row_set.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/plugin_state_change.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/framework/score_parts.hpp"
#include "scheduler/plugins/load_aware/load_aware_args.hpp"
#include "scheduler/plugins/load_aware/load_signal.hpp"
#include "scheduler/plugins/load_aware/node_forecast.hpp"
#include "scheduler/plugins/loop_task.hpp"

namespace berth::plugins {

// Score: the weighted mean of the scores of the signals and, if it is configured, of the forecast
// (NodeForecast), 0 to 100, truncated to an integer. Signals without values do not contribute; if there is
// neither a signal with values nor a forecast, every node gets 0. Filter: rejects a node for each signal that
// exceeds its threshold (LoadSignal::hot, LoadSignal::filled). Pods of DaemonSets and pods that select a node
// by name pass, because they have no alternative. Rejections are unresolvable by preemption. Every change
// after which the filter accepts a node that it rejected before requeues the pods that this plugin rejected:
// measurements, the end of their validity, deleted pods.
class LoadAware final : public framework::PreFilterPlugin,
                        public framework::FilterPlugin,
                        public framework::ScorePartsPlugin,
                        public framework::ScorePlugin,
                        public framework::SavedStatePlugin,
                        private cluster::PodObserver {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  LoadAware(const LoadAwareArgs& args, framework::Handle& handle);
  ~LoadAware() override;
  LoadAware(const LoadAware&) = delete;
  LoadAware& operator=(const LoadAware&) = delete;

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
  Expected<framework::StateEncoder> SaveState() override;
  Expected<void> RestoreState(std::string_view text) override;

 private:
  struct Saved {
    std::vector<LoadSignal::Saved> signals;
    std::vector<cluster::Row> closed;
    std::optional<NodeForecast::Saved> forecast;
    static void VisitFields(auto& self, auto&& visit) {
      visit("signals", self.signals);
      visit("closed", self.closed);
      visit("forecast", self.forecast);
    }
  };
  struct Part {
    std::unique_ptr<LoadSignal> signal;
    framework::ReasonId hot;
    framework::ReasonId filled;
    framework::ReasonId unknown;
  };
  void Reject(const Part& part, const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const;
  // The sum of the weights of everything that has values.
  std::int64_t TotalWeight() const { return weights_ + (forecast_ == nullptr ? 0 : forecast_->weights()); }
  // The signals and the forecast have been notified before.
  void OnPodAdded(cluster::Row row, const cluster::PlacedPod&) override { RefreshRow(row); }
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod&) override { RefreshRow(row); }
  void OnPodStarted(cluster::Row row, const cluster::PlacedPod&) override { RefreshRow(row); }
  void OnNodeAdded(cluster::Row row) override { RefreshRow(row); }
  void OnPolled();
  void UpdateWeights();
  // Computes score and closed_ of the row.
  void RefreshRow(cluster::Row row);
  void RefreshScore(cluster::Row row);
  void RefreshClosed(cluster::Row row);
  bool Rejects(const Part& part, cluster::Row row) const;
  void PublishOpened();

  framework::Handle& handle_;
  const bool reject_unknown_;
  std::vector<Part> parts_;
  bool any_threshold_ = false;
  std::int64_t weights_ = 0;                      // sum of the weights of signals with values
  std::vector<std::uint8_t> scores_;              // by row, without a forecast; Score copies it
  const std::unique_ptr<NodeForecast> forecast_;  // null: off
  RowSet closed_;                                 // rows that Filter rejects for any signal
  RowSet opened_;  // rows that left closed_ since the last event, and did not return
  LoopTask publish_opened_{handle_.loop, [this] { PublishOpened(); }};
};

}  // namespace berth::plugins
