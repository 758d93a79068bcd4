// Prefers nodes with low measured CPU usage, whatever their pods requested. Available under two names:
// "CPUUsage", and "custom" as in a tutorial.
#pragma once

#include <string>
#include <string_view>

#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"

namespace berth::plugins {

struct CpuUsageArgs {
  // or the name of a metric source
  std::string prometheus_address = "http://prometheus-server.monitoring:9090";
  Duration window = std::chrono::minutes(5);
};

Expected<CpuUsageArgs> ParseCpuUsageArgs(const framework::RawArgs& raw);
config::ArgsCodec CpuUsageArgsCodec();

// Score: 100 minus the busy percentage, truncated to an integer, as in the tutorial. The busy percentage is
// the measured one (all modes except idle) plus the requests of pods that the measurement does not include
// yet. A node without a value gets the median; if no node has a value, every node gets 0.
class CpuUsage final : public framework::FilterPlugin,
                       public framework::ScorePlugin,
                       public framework::SavedStatePlugin {
 public:
  static framework::Factory Factory(std::string name);
  CpuUsage(std::string_view name, const CpuUsageArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return name_; }
  // The tutorial declares the filter, which accepts every node.
  void Filter(const framework::Attempt&, const RowSet&, framework::Rejections&) const override {}
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  // The plugin rejects no pod.
  std::vector<framework::EventRegistration> EventsToRegister() const override { return {}; }

  Expected<framework::StateEncoder> SaveState() override;
  Expected<void> RestoreState(std::string_view text) override;

 private:
  struct Saved {
    UnmeasuredPods::Saved unmeasured;
    double median = 0;
    static void VisitFields(auto& self, auto&& visit) {
      visit("unmeasured", self.unmeasured);
      visit("median", self.median);
    }
  };
  void LogScores(const framework::Attempt& attempt, const RowSet& feasible,
                 const framework::ScoreColumn& scores) const;

  const std::string_view name_;
  load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId busy_;
  UnmeasuredPods unmeasured_pods_;  // in milli-cores
  double median_ = load_metrics::kNoValue;
};

}  // namespace berth::plugins
