#include "tools/rebalance/cluster_copy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/assembly/in_tree_plugins.hpp"
#include "testing/builders.hpp"
#include "testing/load_metrics.hpp"

namespace berth::rebalance {
namespace {

using ::testing::ElementsAre;

// Two nodes of ten cores; the workloads "stays" and "moves" have a pod on n1, "there" has one on n2. Each pod
// requests one core. The score is the CPU forecast.
class CopyWithForecast : public ::testing::Test {
 protected:
  void SetUp() override {
    const config::ParseOptions options{.gates = {}, .codecs = &plugins_.codecs(), .read_file = {}};
    config_ =
        config::ParseSchedulerConfig(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
            "- schedulerName: default-scheduler\n"
            "  plugins: {score: {disabled: [{name: '*'}], enabled: [{name: LoadAware}]}}\n"
            "  pluginConfig: [{name: LoadAware, args: {preset: none, signals: [{name: cpu, weight: 0}], "
            "forecast: {memoryWeight: 0}}}]\n",
            options)
            .value();
    std::vector<std::string> notes;
    live_ = assembly::Engine::Build(config_, plugins_, ports_.ports(), notes).value();
    live_->handle().signals.SetClock(clock_);
    for (const auto* name : {"n1", "n2"})
      live_->cache().AddNode(testing::MakeNode(name).Cpu("10").Memory("100Gi").Pods("110").Share());
    live_->cache().AddPod(Pod("stays", "n1"));
    live_->cache().AddPod(Pod("moves", "n1"));
    live_->cache().AddPod(Pod("there", "n2"));
  }
  static api::PodPtr Pod(const std::string& workload, const std::string& node) {
    testing::PodBuilder builder = testing::MakePod(workload + "-0");
    builder.Uid(workload).Cpu("1").Memory("1Gi").OnNode(node).Phase("Running");
    api::OwnerReference owner;
    owner.kind = "StatefulSet";
    owner.name = workload;
    builder.raw().metadata.controller = std::move(owner);
    return builder.Share();
  }
  void Deliver(const std::string& signal, std::vector<load_metrics::SeriesName> names,
               std::vector<double> values) {
    load_metrics::SignalAnswer answer{.signal = testing::FindSignal(live_->handle().signals, signal),
                                      .polled_at = clock_.Now(),
                                      .renumbered = true,
                                      .fresh = nullptr,
                                      .samples = {}};
    for (std::size_t i = 0; i < values.size(); ++i) answer.samples.emplace_back(i, values[i]);
    answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
    live_->handle().signals.Take(answer);
  }
  void DeliverByNode(const std::string& signal, std::vector<double> values) {
    Deliver(signal, {{{"node", "n1"}}, {{"node", "n2"}}}, std::move(values));
  }
  void DeliverForecasts(double stays, double moves, double there) {
    const auto series = [](const std::string& name) {
      return load_metrics::SeriesName{
          {"namespace", "default"}, {"owner_kind", "StatefulSet"}, {"owner_name", name}};
    };
    Deliver("forecast of workloads: cpu", {series("stays"), series("moves"), series("there")},
            {stays, moves, there});
  }
  std::unique_ptr<ClusterCopy> Copy() {
    return ClusterCopy::Create({config_, plugins_, *live_, {}, load_, clock_}).value();
  }

  ManualClock clock_;
  const runtime::Registry plugins_ = assembly::InTreePlugins();
  config::SchedulerConfig config_;
  assembly::DryRunPorts ports_;
  std::unique_ptr<assembly::Engine> live_;
  MeasuredLoad load_;
};

TEST_F(CopyWithForecast, TheForecastsAreCopied) {
  const api::PodPtr other = Pod("other", "n1");
  EXPECT_THAT(Copy()->Choose(other).nodes, ElementsAre("n2")) << "by requests";
  DeliverForecasts(0.1, 0.1, 5);
  EXPECT_THAT(Copy()->Choose(other).nodes, ElementsAre("n1"));
}

// Otherwise the load that a pod takes with it would count twice on its new node: beside containers, and as a
// forecast.
TEST_F(CopyWithForecast, AMovedPodCountsOnce) {
  DeliverForecasts(6.2, 1, 5);
  for (const auto* guard : {"cpu: age", "cpu: samples"}) DeliverByNode(guard, {10, 10});
  DeliverByNode("cpu", {0.72, 0.5});
  DeliverByNode("use of containers by node: cpu", {7.2, 5});
  const auto copy = Copy();
  SignalLoad cpu;
  cpu.name = cpu.resource = "cpu";
  cpu.id = testing::FindSignal(live_->handle().signals, "cpu");
  copy->Move(Pod("moves", "n1"), "n2");
  copy->AddLoad(cpu, "n1", -10);
  copy->AddLoad(cpu, "n2", 10);
  EXPECT_THAT(copy->Choose(Pod("other", "n1")).nodes, ElementsAre("n2")) << "60 percent against 62";
}

}  // namespace
}  // namespace berth::rebalance
