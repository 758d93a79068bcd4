#include "scheduler/plugins/load_aware/load_aware.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "scheduler/cluster/row_log.hpp"
#include "scheduler/plugins/load_metrics/prometheus_args.hpp"
#include "testing/load_metrics.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::FakeServices;
using berth::testing::Fits;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::Measure;
using berth::testing::NodeScores;
using berth::testing::PodBuilder;
using berth::testing::Unresolvable;
using berth::testing::Verdicts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Values = std::vector<std::pair<std::string, double>>;
using namespace std::chrono_literals;

// Two nodes of ten cores and 10 Gi; "own" is a signal without guards.
struct MeasuredCluster {
  MeasuredCluster() {
    for (const auto* name : {"n1", "n2"}) cluster.Add(MakeNode(name).Cpu("10").Memory("10Gi"));
    cluster.handle().signals.SetClock(clock);
  }
  void Make(const std::string& args) { plugin = cluster.Make<LoadAware>(args); }
  void Own(const std::string& more = "") {
    Make("{preset: none, signals: [{name: own, query: q" + more + "}]}");
  }
  void MeasureOwn(const Values& values) { Measure(cluster, "own", values, clock.Now()); }
  NodeScores Scores(const api::Pod& pod = MakePod()) { return cluster.Scores(*plugin, pod); }
  Verdicts Evaluate(const api::Pod& pod = MakePod()) { return cluster.Evaluate(*plugin, pod); }
  bool Accepts(const std::string& node) { return Evaluate().at(node) == Fits(); }
  // Removes the pod that was added to the node last.
  void RemovePodFrom(const std::string& node) {
    const cluster::Row row = cluster.RowOf(node);
    cluster.nodes().RemovePod(row, *cluster.nodes().pods(row).back());
  }
  // The number of events since the last call.
  std::size_t Events() {
    cluster.loop().Run();
    return std::exchange(cluster.services().published, {}).size();
  }

  ManualClock clock;
  Cluster cluster;
  std::unique_ptr<LoadAware> plugin;
};
struct LoadAwareTest : ::testing::Test, MeasuredCluster {};

TEST_F(LoadAwareTest, AMinimalConfigurationIsSufficient) {
  Make("{prometheusAddress: 'http://p:9090', preset: balanced}");
  Measure(cluster, "cpu: age", {{"n1", 10}, {"n2", 10}});
  Measure(cluster, "cpu: samples", {{"n1", 20}, {"n2", 20}});
  Measure(cluster, "memory: age", {{"n1", 10}, {"n2", 10}});
  Measure(cluster, "memory: samples", {{"n1", 20}, {"n2", 20}});
  Measure(cluster, "cpu", {{"n1", 0.69}, {"n2", 0.2}}, clock.Now());
  Measure(cluster, "memory", {{"n1", 0.5}, {"n2", 0.95}}, clock.Now());
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 40}, {"n2", 42}}));
  EXPECT_EQ(Evaluate(), (Verdicts{{"n1", Fits()},
                                  {"n2", Unresolvable({"node(s) had too much memory load (measured)"})}}));
}

TEST_F(LoadAwareTest, SignalsAreWeightedAndIgnoredWithoutValues) {
  Make(
      "{preset: none, signals: [{name: a, query: a, weight: 3}, {name: b, query: b, full: 200}, "
      "{name: c, query: c, weight: 100}]}");
  Measure(cluster, "a", {{"n1", 0.5}, {"n2", 1}});
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 50}, {"n2", 0}}));
  Measure(cluster, "b", {{"n1", 100}, {"n2", 0}});
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 50}, {"n2", 25}}));
}

// Scores are maintained incrementally; this test compares them with scores computed from the definition.
TEST_F(LoadAwareTest, CachedScoresEqualComputedScores) {
  constexpr int kNodes = 200;
  for (int i = 3; i <= kNodes; ++i) cluster.Add(MakeNode(fmt::format("n{}", i)).Cpu(i % 7 == 0 ? "4" : "10"));
  Own(", threshold: 60, estimate: {from: request, resource: cpu}");
  std::mt19937 random(7);
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  std::map<std::string, double> measured, placed;  // percent, milli-cores
  for (int step = 0; step < 60; ++step) {
    if (step % 10 == 0) {
      Values values;
      for (int i = 1; i <= kNodes; ++i) {
        if (up_to(10) > 0) values.emplace_back(fmt::format("n{}", i), up_to(50) / 100.0);
      }
      MeasureOwn(values);
      measured.clear();
      for (const auto& [node, value] : values) measured[node] = 100 * value;
    }
    const std::string node = fmt::format("n{}", 1 + up_to(kNodes));
    const int milli = 100 * (1 + up_to(40));
    cluster.Run(node, MakePod(fmt::format("p{}", step)).Cpu(fmt::format("{}m", milli)));
    placed[node] += milli;
    const auto verdicts = Evaluate(MakePod().Cpu(fmt::format("{}m", 100 * (1 + up_to(30)))));
    const auto scores = Scores();
    const double median = [&] {
      std::vector<double> all;
      for (const auto& [name, value] : measured) all.push_back(value);
      std::ranges::sort(all);
      return all[all.size() / 2];
    }();
    for (int i = 1; i <= kNodes; ++i) {
      const std::string name = fmt::format("n{}", i);
      const double offered = i % 7 == 0 && i > 2 ? 4000 : 10000;
      const double unmeasured_pods = 100 * placed[name] / offered;
      const bool known = measured.contains(name);
      const double expected = (known ? measured[name] : median) + unmeasured_pods;
      EXPECT_NEAR(static_cast<double>(scores.at(name)), 100 - std::clamp(expected, 0.0, 100.0), 1.0) << name;
      const double counted = (known ? measured.at(name) : 0) + std::min(unmeasured_pods, 20.0);
      if (std::abs(counted - 60) > 1e-6) {
        EXPECT_EQ(verdicts.at(name) != Fits(), known && counted > 60) << name << " in step " << step;
      }
    }
  }
}

TEST_F(LoadAwareTest, TheStartTimeOfAPodReplacesTheTimeOfItsPlacement) {
  Own(", estimate: {from: request, resource: cpu}");
  clock.Advance(1h);
  MeasureOwn({{"n1", 0.3}, {"n2", 0.3}});
  PodBuilder pod = MakePod("p").Cpu("1");
  cluster.Run("n1", pod);
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 60}, {"n2", 70}}));
  pod.raw().status.start_time =
      std::chrono::duration_cast<std::chrono::seconds>((clock.WallNow() - 30min).time_since_epoch()).count();
  const cluster::Row row = cluster.RowOf("n1");
  const std::uint64_t changes = cluster.nodes().pod_changes().count();
  cluster.nodes().ReplacePod(row, *cluster.nodes().pods(row).front(), pod.Share());
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 70}, {"n2", 70}})) << "the measurement includes it";
  EXPECT_GT(cluster.nodes().pod_changes().count(), changes) << "the row must be scored again";
}

TEST_F(LoadAwareTest, TheScoreIsExplainedPerSignal) {
  Make(
      "{preset: none, signals: [{name: a, query: a, weight: 3}, {name: b, query: b, weight: 0}, "
      "{name: c, query: c}, {name: d, query: d}]}");
  Measure(cluster, "a", {{"n1", 0.25}, {"n2", 1}});
  Measure(cluster, "b", {{"n1", 1}});
  Measure(cluster, "d", {{"n1", 0.4}});
  const cluster::PodInfo pod = cluster.Prepare(MakePod());
  framework::ScratchPool scratch;
  const auto parts = plugin->ScoreParts(framework::Attempt(pod, cluster.nodes(), cluster.state(), scratch),
                                        cluster.nodes().all());
  ASSERT_EQ(parts.size(), 2U) << "neither what has no weight nor what was never measured";
  EXPECT_EQ(parts[0].name, "a");
  EXPECT_EQ(parts[0].weight, 3);
  EXPECT_THAT(parts[0].load, ElementsAre(25, 100));
  EXPECT_THAT(parts[0].score, ElementsAre(75, 0));
  EXPECT_EQ(parts[1].name, "d");
  EXPECT_TRUE(std::isnan(parts[1].load[1]));
  EXPECT_THAT(parts[1].score, ElementsAre(60, 60)) << "a node that is not measured counts as the median";
}

TEST_F(LoadAwareTest, TheEstimateUsesTheWorkloadsHistoryIfKnown) {
  const auto of_worker = [](PodBuilder builder) {
    api::OwnerReference owner;
    owner.kind = "StatefulSet";
    owner.name = "worker";
    builder.raw().metadata.controller = std::move(owner);
    return builder;
  };
  Own(", estimate: {from: history, resource: cpu}");
  MeasureOwn({{"n1", 0.3}, {"n2", 0.3}});
  cluster.Run("n2", of_worker(MakePod("worker-1").Cpu("1")));
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 70}, {"n2", 60}})) << "one core of ten is requested";
  api::Pod sibling = of_worker(MakePod("worker-0"));
  sibling.status.start_time =
      std::chrono::duration_cast<std::chrono::seconds>((clock.WallNow() - 1h).time_since_epoch()).count();
  cluster.Run("n1", sibling);
  auto& measurements = cluster.handle().signals;
  measurements.Take(
      {.signal = berth::testing::FindSignal(measurements, "use of workloads: cpu"),
       .polled_at = clock.Now(),
       .renumbered = true,
       .fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(
           std::vector<load_metrics::SeriesName>{{{"namespace", "default"}, {"pod", "worker-0"}}}),
       .samples = {{0, 0.25}}});
  cluster.Run("n1", of_worker(MakePod("worker-2").Cpu("1")));
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 67}, {"n2", 60}})) << "a quarter of a core is used";
}

// Targets as in existing load-aware schedulers.
TEST_F(LoadAwareTest, NodesArePackedUpToTheTarget) {
  Own(", target: 40");
  const struct {
    double share;
    std::int64_t score;
  } cases[] = {{0, 40}, {0.2, 70}, {0.4, 100}, {0.7, 20}, {1, 0}, {1.01, 0}};
  for (const auto& [share, score] : cases) {
    MeasureOwn({{"n1", share}});
    EXPECT_EQ(Scores().at("n1"), score) << share;
  }
}

TEST_F(LoadAwareTest, AHotNodeIsRejectedUntilItIsBelowTheHysteresis) {
  Own(", threshold: 80, estimate: {from: none}");
  const auto open = [&](double share) {
    MeasureOwn({{"n1", share}, {"n2", 0.1}});
    return Evaluate().at("n1") == Fits();
  };
  EXPECT_TRUE(open(0.79));
  EXPECT_FALSE(open(0.81));
  EXPECT_FALSE(open(0.78));
  EXPECT_EQ(Events(), 0U);
  EXPECT_TRUE(open(0.74));
  EXPECT_EQ(Events(), 1U) << "rejected pods are retried";
  EXPECT_TRUE(open(0.79));
}

TEST_F(LoadAwareTest, TheFilterCountsTheMeasuredLoadAndPodsPlacedSince) {
  Own(", threshold: 60, estimate: {from: request, resource: cpu}");
  MeasureOwn({{"n1", 0.5}, {"n2", 0.61}});
  const api::Pod large = MakePod().Cpu("9");
  EXPECT_EQ(Evaluate(large),
            (Verdicts{{"n1", Fits()}, {"n2", Unresolvable({"node(s) had too much own load (measured)"})}}))
      << "the demand of the pod itself does not count";
  cluster.Run("n1", MakePod("since").Cpu("1100m"));
  EXPECT_EQ(Evaluate().at("n1"),
            Unresolvable({"node(s) had too much own load (measured, plus estimated for pods placed since)"}));
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 39}, {"n2", 39}}));
  clock.Advance(25s);
  MeasureOwn({{"n1", 0.5}, {"n2", 0.5}});
  EXPECT_FALSE(Accepts("n1")) << "the pod may have started after the exporter was scraped";
  clock.Advance(1s);
  MeasureOwn({{"n1", 0.5}, {"n2", 0.5}});
  EXPECT_TRUE(Accepts("n1")) << "the measurement includes a part of the pod";
}

// The estimate can be wrong by any factor; a node that is not busy must stay open.
TEST(LoadAware, TheFilterLimitsTheEstimates) {
  const struct {
    std::string args;
    double measured;
    bool accepted;
  } cases[] = {
      {"", 0.59, true},
      {"", 0.61, false},
      {", maxEstimate: 5", 0.74, true},
      {", maxEstimate: 5", 0.76, false},
      {", maxEstimate: 0", 0.79, true},
      {", maxEstimate: 0", 0.81, false},
      {", maxEstimate: 50", 0.31, false},
  };
  for (const auto& [args, measured, accepted] : cases) {
    MeasuredCluster fresh;
    fresh.Make(
        "{preset: none, signals: [{name: own, query: q, threshold: 80, estimate: {from: request, resource: "
        "cpu}}]" +
        args + "}");
    fresh.cluster.Run("n1", MakePod("since").Cpu("9"));
    fresh.MeasureOwn({{"n1", measured}, {"n2", 0.5}});
    EXPECT_EQ(fresh.Accepts("n1"), accepted) << args << " " << measured;
  }
}

// Six nodes that are not busy, with almost no pods: the traffic is not that of the pods.
TEST(LoadAware, IdleNodesAcceptABurstWhateverTheMeanPerPodIs) {
  for (const int daemons : {0, 3}) {
    MeasuredCluster fresh;
    fresh.Own(", threshold: 80");
    Values values;
    for (int i = 1; i <= 6; ++i) {
      const std::string node = "n" + std::to_string(i);
      if (i > 2) fresh.cluster.Add(MakeNode(node));
      for (int j = 0; j < daemons; ++j) fresh.cluster.Run(node, MakePod(fmt::format("agent-{}-{}", i, j)));
      values.emplace_back(node, daemons == 0 ? 0.4 : 0.65);
    }
    fresh.clock.Advance(10min);
    fresh.MeasureOwn(values);
    for (int i = 0; i < 12; ++i) {
      const std::string node = "n" + std::to_string(1 + i % 6);
      EXPECT_TRUE(fresh.Accepts(node)) << i << " with " << daemons << " daemons";
      fresh.cluster.Run(node, MakePod(fmt::format("burst-{}", i)));
    }
  }
}

TEST_F(LoadAwareTest, EveryChangeThatOpensANodePublishesOneEvent) {
  Own(", threshold: 60, estimate: {from: request, resource: cpu}");
  MeasureOwn({{"n1", 0.5}, {"n2", 0.5}});
  EXPECT_EQ(Events(), 0U);
  cluster.Run("n1", MakePod("a").Cpu("2"));
  cluster.Run("n2", MakePod("b").Cpu("2"));
  EXPECT_FALSE(Accepts("n1") || Accepts("n2"));
  EXPECT_EQ(Events(), 0U);
  RemovePodFrom("n1");
  EXPECT_TRUE(Accepts("n1"));
  EXPECT_EQ(Events(), 1U) << "a pod was deleted";
  cluster.Run("n1", MakePod("a").Cpu("2"));
  RemovePodFrom("n1");
  cluster.Run("n1", MakePod("a").Cpu("2"));
  EXPECT_EQ(Events(), 0U) << "an update of a pod removes it and adds it again";
  MeasureOwn({{"n1", 0.41}, {"n2", 0.39}});
  EXPECT_FALSE(Accepts("n1"));
  EXPECT_TRUE(Accepts("n2"));
  EXPECT_EQ(Events(), 1U) << "the measured load fell below the threshold minus the estimates";
  MeasureOwn({{"n1", 0.1}, {"n2", 0.1}});
  EXPECT_EQ(Events(), 1U);
  MeasureOwn({{"n1", 0.2}, {"n2", 0.2}});
  EXPECT_EQ(Events(), 0U) << "nothing was opened";
  MeasureOwn({{"n1", 0.9}, {"n2", 0.9}});
  EXPECT_EQ(Events(), 0U);
  auto& measurements = cluster.handle().signals;
  measurements.Failed(berth::testing::FindSignal(measurements, "own"), clock.Now() + 1h, "refused");
  EXPECT_TRUE(Accepts("n1"));
  EXPECT_EQ(Events(), 1U) << "the measurements expired";
}

TEST_F(LoadAwareTest, WithOnOutageRejectANodeIsOpenedByItsFirstMeasurement) {
  Make("{preset: none, onOutage: reject, signals: [{name: own, query: q, threshold: 50}]}");
  MeasureOwn({{"n1", 0.1}});
  EXPECT_EQ(Events(), 1U);
  MeasureOwn({{"n1", 0.1}, {"n2", 0.1}});
  EXPECT_TRUE(Accepts("n2"));
  EXPECT_EQ(Events(), 1U);
  auto& measurements = cluster.handle().signals;
  measurements.Failed(berth::testing::FindSignal(measurements, "own"), clock.Now() + 1h, "refused");
  EXPECT_FALSE(Accepts("n1"));
  EXPECT_EQ(Events(), 0U);
  MeasureOwn({{"n1", 0.1}, {"n2", 0.1}});
  EXPECT_EQ(Events(), 1U) << "the outage ended";
}

TEST_F(LoadAwareTest, OnlyEventsOfThisPluginAndNodesThatItAcceptsRetryAPod) {
  const cluster::PodInfo pod = cluster.Prepare(MakePod());
  Own(", threshold: 50");
  const auto other = cluster.Make<LoadAware>("{preset: none, signals: [{name: b, query: b, threshold: 50}]}");
  const auto evaluate = [&](const framework::ClusterEvent& event, const framework::EventObjects& objects) {
    for (const auto& registration : plugin->EventsToRegister()) {
      if (registration.event.Matches(event)) return *registration.hint(pod, objects);
    }
    return framework::Hint::kSkip;
  };
  const auto change_of = [](const LoadAware& of) {
    return framework::EventObjects{
        nullptr, std::make_shared<const framework::PluginStateChange>(framework::PluginStateChange{&of})};
  };
  const framework::ClusterEvent node_added{framework::EventResource::kNode, framework::kAdd, "NodeAdd"};
  const framework::EventObjects node{nullptr, std::make_shared<const api::Node>(MakeNode("n3"))};
  EXPECT_EQ(evaluate(framework::kMeasurementUpdate, change_of(*plugin)), framework::Hint::kQueue);
  EXPECT_EQ(evaluate(framework::kMeasurementUpdate, change_of(*other)), framework::Hint::kSkip);
  EXPECT_EQ(evaluate(node_added, node), framework::Hint::kQueue);
  Make("{preset: none, onOutage: reject, signals: [{name: strict, query: s, threshold: 50}]}");
  EXPECT_EQ(evaluate(node_added, node), framework::Hint::kSkip) << "a new node is not measured";
}

TEST_F(LoadAwareTest, EstimatesFromLimitsFallBackToRequests) {
  Own(", estimate: {from: limit, resource: cpu, factor: 0.5}");
  MeasureOwn({{"n1", 0.1}, {"n2", 0.1}});
  api::Pod limited = MakePod("limited").Cpu("1");
  limited.spec.containers[0].resources.limits["cpu"] = *api::Quantity::Parse("4");
  cluster.Run("n1", limited).Run("n2", MakePod("plain").Cpu("2"));
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 70}, {"n2", 80}}));
}

TEST_F(LoadAwareTest, PodsBetweenTwoPollsAreDistributed) {
  for (int i = 3; i <= 20; ++i) cluster.Add(MakeNode("n" + std::to_string(i)).Cpu("10").Memory("10Gi"));
  Own(", estimate: {from: request, resource: cpu}");
  Values idle;
  for (int i = 1; i <= 20; ++i) idle.emplace_back("n" + std::to_string(i), 0.1);
  MeasureOwn(idle);
  std::map<std::string, int> pods;
  for (int i = 0; i < 200; ++i) {
    clock.Advance(10ms);
    const NodeScores scores = Scores();
    const auto best = std::ranges::max_element(scores, {}, [](const auto& entry) { return entry.second; });
    ++pods[best->first];
    cluster.Run(best->first, MakePod("p" + std::to_string(i)).Cpu("500m"));
  }
  EXPECT_EQ(pods.size(), 20U);
  for (const auto& [node, count] : pods) EXPECT_EQ(count, 10) << node;
}

TEST_F(LoadAwareTest, DaemonSetPodsAndPodsWithANodeNameAreAccepted) {
  Own(", threshold: 50");
  MeasureOwn({{"n1", 0.9}, {"n2", 0.9}});
  api::Pod daemon = MakePod();
  daemon.metadata.controller = api::OwnerReference{"apps/v1", "DaemonSet", "agent", "u"};
  EXPECT_EQ(Evaluate(daemon), (Verdicts{{"n1", Fits()}, {"n2", Fits()}}));
  EXPECT_NE(Evaluate().at("n1"), Fits());
}

TEST_F(LoadAwareTest, AnOutageIsNeutralByDefault) {
  Own(", threshold: 50");
  EXPECT_EQ(Evaluate(), (Verdicts{{"n1", Fits()}, {"n2", Fits()}}));
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 0}, {"n2", 0}}));
  Make("{preset: none, onOutage: reject, signals: [{name: strict, query: s, threshold: 50}]}");
  EXPECT_EQ(Evaluate().at("n1"), Unresolvable({"node(s) had no strict measurement"}));
  Measure(cluster, "strict", {{"n1", 0.1}}, clock.Now());
  EXPECT_EQ(Evaluate(),
            (Verdicts{{"n1", Fits()}, {"n2", Unresolvable({"node(s) had no strict measurement"})}}));
}

TEST_F(LoadAwareTest, ANodeWithoutAValueIsScoredAsTheMedianAndNotRejected) {
  Own(", threshold: 50");
  MeasureOwn({{"n1", 0.9}});
  EXPECT_EQ(Evaluate().at("n2"), Fits());
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 10}, {"n2", 10}}));
}

TEST_F(LoadAwareTest, QueriesAreBuiltFromTheArguments) {
  Make(
      "{preset: none, prometheusAddress: main, holdFor: 1m, signals: [{name: cpu, window: 2m, percentile: "
      "95, over: 10m}]}");
  auto& measurements = cluster.handle().signals;
  const auto& spec = measurements.signal(berth::testing::FindSignal(measurements, "cpu")).spec;
  EXPECT_EQ(spec.source, "main");
  EXPECT_EQ(spec.hold, 60s);
  EXPECT_EQ(spec.window, 12min);
  EXPECT_EQ(spec.expression, "quantile_over_time(0.95, (" + BusyShareOf("2m0s") + ")[10m0s:1m])");
  EXPECT_EQ(spec.guards.size(), 2U);
}

TEST(LoadAwareArgs, AreEncodedAndDecodedWithoutLoss) {
  const auto codec = LoadAwareArgsCodec();
  for (const auto* text :
       {"{}",
        "{maxEstimate: 7.5, preset: streaming, signals: [{name: disk, weight: 0}, {name: own, query: q, "
        "full: 90, "
        "target: 50, preferHigh: true, estimate: {from: limit, resource: nvidia.com/gpu, factor: 0.8}}]}"}) {
    config::Problems problems;
    const auto once = codec.complete(*yaml::ParseValue(text), {}, problems);
    EXPECT_EQ(problems.Text(), "");
    EXPECT_EQ(codec.complete(once, {}, problems), once);
    EXPECT_EQ(problems.Text(), "");
    EXPECT_THAT(codec.validate(once, "args", {}), IsEmpty());
  }
}

TEST(LoadAwareArgs, ReportValidationErrors) {
  Cluster cluster;
  const struct {
    std::string args, error;
  } cases[] = {
      {"{preset: ballanced}",
       "preset: Unsupported value: \"ballanced\": supported values: \"balanced\", \"packing\", "
       "\"streaming\", \"none\"; did you mean \"balanced\"?"},
      {"{preset: none}", "args.signals: Required value: at least one signal"},
      {"{signals: [{name: cpuu}]}", "signals[0].query: Required value: \"cpuu\" is not a built-in signal"},
      {"{signals: [{name: cpu, weight: -1}]}",
       "args.signals[0].weight: Invalid value: -1: must not be negative"},
      {"{signals: [{name: cpu, threshold: 0}]}",
       "args.signals[0].threshold: Invalid value: 0: must be greater than zero"},
      {"{signals: [{name: cpu, target: 100}]}", "args.signals[0].target: Invalid value: 100"},
      {"{signals: [{name: cpu, percentile: 101}]}", "args.signals[0].percentile: Invalid value: 101"},
      {"{signals: [{name: cpu, full: 0}]}", "args.signals[0].full: Invalid value: 0"},
      {"{signals: [{name: disk, estimate: {from: request}}]}", "estimate.resource: Required value"},
      {"{signals: [{name: cpu, estimate: {from: requests}}]}",
       "signals[0].estimate.from: Unsupported value: \"requests\""},
      {"{signals: [{name: cpu, treshold: 1}]}", "unknown field \"signals[0].treshold\""},
      {"{onOutage: panic}", "onOutage: Unsupported value: \"panic\""},
      {"{hysteresis: 100}", "args.hysteresis: Invalid value: 100"},
      {"{maxEstimate: -1}", "args.maxEstimate: Invalid value: -1: must be between 0 and 100"},
      {"{maxEstimate: 101}", "args.maxEstimate: Invalid value: 101"},
      {"{holdFor: 0s}", "args.holdFor: Invalid value: \"0s\""},
  };
  for (const auto& [args, error] : cases) {
    const auto made = cluster.TryMake<LoadAware>(args);
    ASSERT_FALSE(made) << args;
    EXPECT_THAT(made.error().message, HasSubstr(error));
  }
}

}  // namespace
}  // namespace berth::plugins
