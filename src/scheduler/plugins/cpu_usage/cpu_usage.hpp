// Prefers nodes whose processors are idle in truth, whatever their pods asked for. Goes by two names:
// "CPUUsage", and "custom", which a tutorial gave it.
#pragma once

#include <string>

#include "scheduler/framework/factory.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/load_metrics/unmeasured_pods.hpp"

namespace berth::plugins {

struct CpuUsageArgs {
  std::string prometheus_address = "http://prometheus-server.monitoring:9090";  // or a metric source's name
  Duration window = std::chrono::minutes(5);
};

Expected<CpuUsageArgs> ParseCpuUsageArgs(const framework::RawArgs& raw);
config::ArgsCodec CpuUsageArgsCodec();

// Score: 100 minus the busy percentage, cut to a whole number, as in the tutorial; busy is what is measured
// (everything but mode idle) plus what pods that the measurement does not show yet have requested. A node
// that is not measured gets the median; with no measurement at all every node gets 0, so the plugin has no
// say.
class CpuUsage final : public framework::FilterPlugin, public framework::ScorePlugin {
 public:
  static framework::Factory Factory(std::string name);
  CpuUsage(std::string name, const CpuUsageArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return name_; }
  // The tutorial declares it, and lets every node pass.
  void Filter(const framework::Attempt&, const RowSet&, framework::Rejections&) const override {}
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  // It rejects nobody.
  std::vector<framework::EventRegistration> EventsToRegister() const override { return {}; }

 private:
  void LogScores(const framework::Attempt& attempt, const RowSet& feasible,
                 const framework::ScoreColumn& scores) const;

  const std::string name_;
  load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId busy_;
  UnmeasuredPods unmeasured_pods;  // in milli-cores
  double median_ = load_metrics::kNoValue;
};

}  // namespace berth::plugins
