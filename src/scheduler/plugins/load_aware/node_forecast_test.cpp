// The forecast of LoadAware.
#include "scheduler/plugins/load_aware/node_forecast.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "scheduler/plugins/load_aware/load_aware.hpp"
#include "testing/load_metrics.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::FindSignal;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::Measure;
using berth::testing::NodeScores;
using berth::testing::PodBuilder;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

api::Pod PodOf(const std::string& workload, PodBuilder builder) {
  api::OwnerReference owner;
  owner.kind = "StatefulSet";
  owner.name = workload;
  builder.raw().metadata.controller = std::move(owner);
  return builder;
}

// Two nodes of ten cores and 10 Gi; the score consists of the CPU forecast alone.
struct NodeForecastTest : ::testing::Test {
  NodeForecastTest() {
    for (const auto* name : {"n1", "n2"}) cluster.Add(MakeNode(name).Cpu("10").Memory("10Gi"));
  }
  void Make(const std::string& forecast = "{memoryWeight: 0}",
            const std::string& signals = "{name: own, query: q}") {
    plugin = cluster.Make<LoadAware>(
        fmt::format("{{preset: none, signals: [{}], forecast: {}}}", signals, forecast));
  }
  void Forecast(const std::string& resource, const std::vector<std::pair<std::string, double>>& workloads) {
    load_metrics::SignalAnswer answer{
        .signal = FindSignal(measurements, "forecast of workloads: " + resource),
        .polled_at = MonoTime(std::chrono::hours(1)),
        .renumbered = true,
        .fresh = nullptr,
        .samples = {}};
    std::vector<load_metrics::SeriesName> names;
    for (const auto& [name, value] : workloads) {
      answer.samples.emplace_back(names.size(), value);
      names.push_back({{"namespace", "default"}, {"owner_kind", "StatefulSet"}, {"owner_name", name}});
    }
    answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
    measurements.Take(answer);
  }
  // Makes guards trust the nodes.
  void MeasureNodeUse(const std::string& resource, const std::vector<std::pair<std::string, double>>& busy,
                      const std::vector<std::pair<std::string, double>>& containers) {
    std::vector<std::pair<std::string, double>> fresh;
    for (const auto& [node, value] : busy) fresh.emplace_back(node, 10);
    Measure(cluster, resource + ": age", fresh);
    Measure(cluster, resource + ": samples", fresh);
    Measure(cluster, resource, busy);
    Measure(cluster, "use of containers by node: " + resource, containers);
  }
  NodeScores Scores(const api::Pod& pod) { return cluster.Scores(*plugin, pod); }
  std::vector<framework::ScorePart> Parts(const api::Pod& pod) {
    const cluster::PodInfo info = cluster.Prepare(pod);
    framework::ScratchPool scratch;
    return plugin->ScoreParts(framework::Attempt(info, cluster.nodes(), cluster.state(), scratch),
                              cluster.nodes().all());
  }

  Cluster cluster;
  load_metrics::SignalTable& measurements = cluster.handle().signals;
  std::unique_ptr<LoadAware> plugin;
};

TEST_F(NodeForecastTest, PodsCountWithTheirRequestsUntilTheirWorkloadHasAHistory) {
  Make();
  cluster.Run("n1", PodOf("db", MakePod("db-0").Cpu("4")));
  const api::Pod next = PodOf("db", MakePod("db-1").Cpu("4"));
  EXPECT_EQ(Scores(next), (NodeScores{{"n1", 20}, {"n2", 60}}));
  EXPECT_EQ(Scores(MakePod()), (NodeScores{{"n1", 59}, {"n2", 99}})) << "100m without a request";
  Forecast("cpu", {{"db", 1.5}});
  EXPECT_EQ(Scores(next), (NodeScores{{"n1", 70}, {"n2", 85}}));
  Forecast("cpu", {});
  EXPECT_EQ(Scores(next), (NodeScores{{"n1", 20}, {"n2", 60}}));
}

TEST_F(NodeForecastTest, TheSumFollowsThePodsOfANode) {
  Make();
  Forecast("cpu", {{"db", 1}, {"web", 3}});
  const api::Pod probe = PodOf("probe", MakePod("probe").Cpu("1"));
  cluster.Run("n1", PodOf("db", MakePod("db-0"))).Run("n1", PodOf("web", MakePod("web-0")));
  EXPECT_EQ(Scores(probe).at("n1"), 50);
  const cluster::Row row = cluster.RowOf("n1");
  cluster.nodes().RemovePod(row, *cluster.nodes().pods(row).back());
  EXPECT_EQ(Scores(probe).at("n1"), 80);
}

TEST_F(NodeForecastTest, UsageBesideContainersIsAdded) {
  Make();
  Forecast("cpu", {{"db", 1}});
  cluster.Run("n1", PodOf("db", MakePod("db-0"))).Run("n2", PodOf("db", MakePod("db-1")));
  const api::Pod next = PodOf("db", MakePod("db-2"));
  EXPECT_EQ(Scores(next), (NodeScores{{"n1", 80}, {"n2", 80}}));
  MeasureNodeUse("cpu", {{"n1", 0.5}, {"n2", 0.2}}, {{"n1", 2}, {"n2", 3}});
  EXPECT_EQ(Scores(next), (NodeScores{{"n1", 50}, {"n2", 80}}))
      << "30 percent of n1 are used beside containers; n2 cannot use less than its containers";
}

TEST_F(NodeForecastTest, ANodeWithoutMeasurementsUsesTheMedianBesideContainers) {
  cluster.Add(MakeNode("n3").Cpu("10"));
  Make();
  MeasureNodeUse("cpu", {{"n1", 0.3}, {"n2", 0.3}}, {{"n1", 1}, {"n2", 1}});
  const api::Pod pod = PodOf("db", MakePod("db-0").Cpu("1"));
  EXPECT_EQ(Scores(pod), (NodeScores{{"n1", 70}, {"n2", 70}, {"n3", 70}}));
  cluster.Add(MakeNode("n4").Cpu("10"));
  EXPECT_EQ(Scores(pod).at("n4"), 70) << "a new node";
}

TEST_F(NodeForecastTest, BothResourcesAndTheSignalsAreWeighted) {
  Make("{cpuWeight: 2, memoryWeight: 1}", "{name: own, query: q, weight: 1}");
  Forecast("cpu", {{"db", 5}});
  Forecast("memory", {{"db", 2.0 * (1 << 30)}});
  const api::Pod pod = PodOf("db", MakePod("db-0"));
  EXPECT_EQ(Scores(pod).at("n1"), (2 * 50 + 80) / 3) << "a signal without values does not contribute";
  Measure(cluster, "own", {{"n1", 0.9}, {"n2", 0.1}});
  EXPECT_EQ(Scores(pod), (NodeScores{{"n1", (10 + 2 * 50 + 80) / 4}, {"n2", (90 + 2 * 50 + 80) / 4}}));
}

TEST_F(NodeForecastTest, SharesThatAreNotExactDoNotLowerAFullScore) {
  Make("{}", "{name: own, query: q}");
  Forecast("cpu", {{"db", 0}});
  Forecast("memory", {{"db", 0}});
  Measure(cluster, "own", {{"n1", 0}, {"n2", 1}});
  EXPECT_EQ(Scores(PodOf("db", MakePod("db-0"))), (NodeScores{{"n1", 100}, {"n2", 66}})) << "thirds";
}

TEST_F(NodeForecastTest, ANodeWithoutTheResourceScoresZero) {
  cluster.Add(MakeNode("n3"));
  Make();
  EXPECT_EQ(Scores(PodOf("db", MakePod("db-0").Cpu("1"))).at("n3"), 0);
}

TEST_F(NodeForecastTest, TheForecastClosesNoNode) {
  Make("{}", "{name: own, query: q, threshold: 50}");
  Forecast("cpu", {{"db", 100}});
  cluster.Run("n1", PodOf("db", MakePod("db-0")));
  const auto verdicts = cluster.Evaluate(*plugin, PodOf("db", MakePod("db-1")));
  EXPECT_EQ(verdicts.at("n1"), berth::testing::Fits());
}

TEST_F(NodeForecastTest, TheExplanationNamesTheForecastAndItsSource) {
  Make();
  Forecast("cpu", {{"db", 1.5}});
  cluster.Run("n1", PodOf("db", MakePod("db-0")));
  MeasureNodeUse("cpu", {{"n1", 0.5}, {"n2", 0.1}}, {{"n1", 2}, {"n2", 0}});
  const auto parts = Parts(PodOf("db", MakePod("db-1")));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].name, "cpu forecast");
  EXPECT_THAT(parts[0].load, ElementsAre(DoubleNear(60, 1e-9), DoubleNear(25, 1e-9)));
  EXPECT_THAT(parts[0].estimated, ElementsAre(DoubleNear(30, 1e-9), DoubleNear(15, 1e-9)));
  EXPECT_THAT(parts[0].score, ElementsAre(DoubleNear(40, 1e-9), DoubleNear(75, 1e-9)));
  EXPECT_EQ(parts[0].note,
            "the pod counts with 1500m, percentile 75 of the history of default/StatefulSet/db");
  EXPECT_EQ(Parts(PodOf("web", MakePod("w").Cpu("2")))[0].note,
            "the pod counts with 2000m, its request: default/StatefulSet/web has no history");
  EXPECT_EQ(Parts(MakePod("p").Cpu("2"))[0].note,
            "the pod counts with 2000m, its request: it belongs to no workload");
}

// The columns are maintained incrementally; this test compares them with sums computed from the definition.
TEST_F(NodeForecastTest, MaintainedScoresEqualComputedScores) {
  constexpr int kNodes = 30, kWorkloads = 5;
  for (int i = 3; i <= kNodes; ++i) cluster.Add(MakeNode(fmt::format("n{}", i)).Cpu("10"));
  Make();
  std::mt19937 random(5);
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  struct Placed {
    std::string workload;
    int request = 0;  // milli-cores
  };
  std::map<std::string, std::vector<Placed>> placed;  // by node, in the order of the row
  std::map<std::string, double> forecasts, beside;
  int pods = 0;
  for (int step = 0; step < 2000; ++step) {
    const std::string node = fmt::format("n{}", 1 + up_to(kNodes));
    const int change = up_to(10);
    if (change < 6) {
      const Placed pod{fmt::format("w{}", up_to(kWorkloads)), 100 * (1 + up_to(20))};
      cluster.Run(node, PodOf(pod.workload,
                              MakePod(fmt::format("p{}", ++pods)).Cpu(fmt::format("{}m", pod.request))));
      placed[node].push_back(pod);
    } else if (change < 8 && !placed[node].empty()) {
      const cluster::Row row = cluster.RowOf(node);
      cluster.nodes().RemovePod(row, *cluster.nodes().pods(row).back());
      placed[node].pop_back();
    } else if (change == 8) {
      std::vector<std::pair<std::string, double>> values;
      for (int i = 0; i < kWorkloads; ++i) {
        if (up_to(3) > 0) values.emplace_back(fmt::format("w{}", i), up_to(300) / 100.0);
      }
      Forecast("cpu", values);
      forecasts = {values.begin(), values.end()};
    } else {
      std::vector<std::pair<std::string, double>> busy, containers;
      for (int i = 1; i <= kNodes; ++i) {
        const std::string name = fmt::format("n{}", i);
        busy.emplace_back(name, up_to(100) / 100.0);
        containers.emplace_back(name, up_to(1000) / 100.0);
        beside[name] = std::max(0.0, 100 * (busy.back().second - containers.back().second / 10));
      }
      MeasureNodeUse("cpu", busy, containers);
    }
    const Placed probe{fmt::format("w{}", up_to(kWorkloads)), 700};
    const auto milli = [&](const Placed& pod) {
      const auto known = forecasts.find(pod.workload);
      return known == forecasts.end() ? pod.request : 1000 * known->second;
    };
    const auto scores = Scores(PodOf(probe.workload, MakePod("probe").Cpu("700m")));
    for (int i = 1; i <= kNodes; ++i) {
      const std::string name = fmt::format("n{}", i);
      double sum = milli(probe);
      for (const Placed& pod : placed[name]) sum += milli(pod);
      const double expected = 100 - std::clamp(beside[name] + sum / 100, 0.0, 100.0);
      ASSERT_NEAR(static_cast<double>(scores.at(name)), expected, 1.0) << name << " in step " << step;
    }
  }
}

// Every pod of a shape has one workload, and shapes are released when no pod has them.
TEST_F(NodeForecastTest, ManyShapesAreEvaluatedWithTheirOwnForecasts) {
  Make();
  std::vector<std::pair<std::string, double>> values;
  for (int i = 0; i < 600; ++i) values.emplace_back(fmt::format("w{}", i), i / 100.0);
  Forecast("cpu", values);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 600; ++i) {
      const auto scores = Scores(PodOf(fmt::format("w{}", i), MakePod("p").Cpu("9")));
      ASSERT_NEAR(static_cast<double>(scores.at("n1")), 100 - i / 10.0, 1.0) << i;
    }
  }
}

TEST(LoadForecastArgs, AreEncodedAndDecodedWithoutLoss) {
  const auto codec = LoadAwareArgsCodec();
  for (const auto* text : {"{forecast: {}}",
                           "{forecast: {cpuWeight: 3, memoryWeight: 0, percentile: 99.5, horizon: 30m, "
                           "period: 168h, periods: 2, "
                           "workloadLabels: [app, tier], pollInterval: 5m}}"}) {
    config::Problems problems;
    const auto once = codec.complete(*yaml::ParseValue(text), {}, problems);
    EXPECT_EQ(problems.Text(), "");
    EXPECT_EQ(codec.complete(once, {}, problems), once);
    EXPECT_THAT(codec.validate(once, "args", {}), IsEmpty());
  }
}

TEST(LoadForecastArgs, ReportValidationErrors) {
  Cluster cluster;
  const struct {
    std::string forecast, error;
  } cases[] = {
      {"{percentil: 5}", "unknown field \"forecast.percentil\""},
      {"{percentile: 0}", "args.forecast.percentile: Invalid value: 0: must be above 0 and at most 100"},
      {"{percentile: 101}", "args.forecast.percentile: Invalid value: 101"},
      {"{cpuWeight: -1}", "args.forecast.cpuWeight: Invalid value: -1: must not be negative"},
      {"{memoryWeight: -1}", "args.forecast.memoryWeight: Invalid value: -1: must not be negative"},
      {"{cpuWeight: 0, memoryWeight: 0}",
       "args.forecast: Required value: cpuWeight or memoryWeight must be greater than zero"},
      {"{horizon: 59s}", "args.forecast.horizon: Invalid value: \"59s\": must be at least 1m0s"},
      {"{period: 30m}", "args.forecast.period: Invalid value: \"30m0s\": must be at least the horizon"},
      {"{periods: 0}", "args.forecast.periods: Invalid value: 0: must be between 1 and 14"},
      {"{periods: 15}", "args.forecast.periods: Invalid value: 15"},
      {"{workloadLabels: ['']}", "args.forecast.workloadLabels[0]: Required value: the key of a pod label"},
      {"{workloadLabels: [a, b, a]}", "args.forecast.workloadLabels[2]: Duplicate value: \"a\""},
      {"{pollInterval: 0s}", "args.forecast.pollInterval: Invalid value: \"0s\""},
      {"{horizon: soon}",
       "forecast.horizon: Invalid value: \"soon\": expected a duration such as 5m or 1m30s"},
  };
  for (const auto& [forecast, error] : cases) {
    const auto made = cluster.TryMake<LoadAware>("{forecast: " + forecast + "}");
    ASSERT_FALSE(made) << forecast;
    EXPECT_THAT(made.error().message, HasSubstr(error));
  }
}

}  // namespace
}  // namespace berth::plugins
