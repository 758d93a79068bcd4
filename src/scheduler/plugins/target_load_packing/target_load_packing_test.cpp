#include "scheduler/plugins/target_load_packing/target_load_packing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cluster/row_log.hpp"
#include "scheduler/plugins/load_metrics/prometheus_args.hpp"
#include "testing/load_metrics.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Amounts;
using berth::testing::Cluster;
using berth::testing::MakeContainer;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::Measure;
using berth::testing::NodeScores;
using berth::testing::PodBuilder;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr auto kWatcher = "watcherAddress: 'http://load-watcher:2020'";

api::Node TenCores(const std::string& name) {
  api::Node node = MakeNode(name).Cpu("8");
  node.capacity = Amounts({{"cpu", "10"}});
  return node;
}

// A pod whose usage is estimated as nothing, so that the score is that of the measurement.
api::Pod IdlePod() { return MakePod().Container(MakeContainer().Limit("cpu", "0")); }

struct TargetLoadPackingTest : ::testing::Test {
  TargetLoadPackingTest() {
    cluster.handle().signals.SetClock(clock);
    cluster.Add(TenCores("n1")).Add(TenCores("n2"));
  }
  void Make(const std::string& more = "") {
    if (plugin != nullptr) replaced.push_back(std::move(plugin));
    plugin = cluster.Make<TargetLoadPacking>(std::string("{") + kWatcher + more + "}");
  }
  void MeasureCpu(const std::vector<std::pair<std::string, double>>& values) {
    Measure(cluster, "cpu utilization", values, clock.Now());
  }
  std::int64_t ScoreOf(const api::Pod& pod, const std::string& node = "n1") {
    return cluster.Scores(*plugin, pod).at(node);
  }

  ManualClock clock;
  Cluster cluster;
  std::unique_ptr<TargetLoadPacking> plugin;
  std::vector<std::unique_ptr<TargetLoadPacking>> replaced;  // they listen to the measurements of the cluster
};

TEST_F(TargetLoadPackingTest, TheScoreIsHighestAtTheTargetAndZeroAboveAFullNode) {
  const struct {
    double percent;
    std::int64_t score;
  } cases[] = {{0, 40}, {20, 70}, {40, 100}, {70, 20}, {100, 0}, {101, 0}};
  Make();
  for (const auto& [percent, score] : cases) {
    MeasureCpu({{"n1", percent}});
    EXPECT_EQ(ScoreOf(IdlePod()), score) << percent;
  }
}

TEST_F(TargetLoadPackingTest, ThePodCountsByItsLimitElseByItsRequestElseByTheDefault) {
  const struct {
    std::string name;
    api::Pod pod;
    std::int64_t score;  // of an idle node: 40 + 60 * percent / 40
  } cases[] = {
      {"the limit", MakePod().Container(MakeContainer().Cpu("100m").Limit("cpu", "1")), 55},
      {"one and a half of the request", MakePod().Cpu("1"), 63},
      {"the default", MakePod(), 55},
      {"of every container", MakePod().Container(MakeContainer()).Container(MakeContainer("d")), 70},
      {"and the overhead", MakePod().Overhead("cpu", "1"), 70},
      {"but not of init containers", MakePod().Init(MakeContainer().Cpu("8")), 55},
  };
  Make();
  MeasureCpu({{"n1", 0}});
  for (const auto& [name, pod, score] : cases) EXPECT_EQ(ScoreOf(pod), score) << name;
}

TEST_F(TargetLoadPackingTest, RecentlyPlacedPodsCountUntilTheyAreMeasuredForAMinute) {
  Make();
  MeasureCpu({{"n1", 0}, {"n2", 0}});
  EXPECT_EQ(ScoreOf(IdlePod()), 40);
  cluster.Run("n1", MakePod("placed").Cpu("2"));
  EXPECT_EQ(ScoreOf(IdlePod()), 85) << "30 percent";
  EXPECT_EQ(ScoreOf(IdlePod(), "n2"), 40);
  clock.Advance(59s);
  MeasureCpu({{"n1", 0}, {"n2", 0}});
  EXPECT_EQ(ScoreOf(IdlePod()), 85);
  clock.Advance(1s);
  MeasureCpu({{"n1", 0}, {"n2", 0}});
  EXPECT_EQ(ScoreOf(IdlePod()), 40);
}

TEST_F(TargetLoadPackingTest, TheStartTimeOfAPodReplacesTheTimeOfItsPlacement) {
  Make();
  clock.Advance(1h);
  MeasureCpu({{"n1", 0}, {"n2", 0}});
  const PodBuilder placed = MakePod("placed").Cpu("2");
  cluster.Run("n1", placed);
  EXPECT_EQ(ScoreOf(IdlePod()), 85);
  const cluster::Row row = cluster.RowOf("n1");
  const std::uint64_t changes = cluster.nodes().pod_changes().count();
  const auto start = [&](Duration ago) {
    PodBuilder started = placed;
    started.raw().status.start_time =
        std::chrono::duration_cast<std::chrono::seconds>((clock.WallNow() - ago).time_since_epoch()).count();
    cluster.nodes().ReplacePod(row, *cluster.nodes().pods(row).front(), started.Share());
  };
  start(30s);
  EXPECT_EQ(ScoreOf(IdlePod()), 85);
  start(60s);
  EXPECT_EQ(ScoreOf(IdlePod()), 40) << "the measurement includes it";
  EXPECT_GT(cluster.nodes().pod_changes().count(), changes) << "the row must be scored again";
}

TEST_F(TargetLoadPackingTest, AStartTimeOutsideOfTheRangeOfClocksCountsLikeThePresentOrALongTimeAgo) {
  Make();
  clock.Advance(1h);
  MeasureCpu({{"n1", 0}, {"n2", 0}});
  PodBuilder future = MakePod("future").Cpu("2"), past = MakePod("past").Cpu("2");
  future.raw().status.start_time = 253'402'300'799;  // the year 9999
  past.raw().status.start_time = -62'135'596'800;    // the year 1
  cluster.Run("n1", future).Run("n2", past);
  EXPECT_EQ(ScoreOf(IdlePod()), 85);
  EXPECT_EQ(ScoreOf(IdlePod(), "n2"), 40);
}

TEST_F(TargetLoadPackingTest, ADeletedPodNoLongerCounts) {
  Make();
  MeasureCpu({{"n1", 0}});
  cluster.Run("n1", MakePod("placed").Cpu("2"));
  const cluster::Row row = cluster.RowOf("n1");
  cluster.nodes().RemovePod(row, *cluster.nodes().pods(row).front());
  EXPECT_EQ(ScoreOf(IdlePod()), 40);
}

TEST_F(TargetLoadPackingTest, AnUnmeasuredNodeCountsAsTheMedianOrScoresZero) {
  cluster.Add(TenCores("n3"));
  Make();
  MeasureCpu({{"n1", 20}, {"n2", 20}});
  EXPECT_EQ(ScoreOf(IdlePod(), "n3"), 70);
  Make(", unmeasuredNodes: zero");
  MeasureCpu({{"n1", 20}, {"n2", 20}});
  EXPECT_EQ(ScoreOf(IdlePod(), "n1"), 70);
  EXPECT_EQ(ScoreOf(IdlePod(), "n3"), 0);
}

TEST_F(TargetLoadPackingTest, WithoutMeasurementsAllNodesScoreZero) {
  Make();
  EXPECT_EQ(cluster.Scores(*plugin, MakePod()), (NodeScores{{"n1", 0}, {"n2", 0}}));
}

TEST_F(TargetLoadPackingTest, ExplanationsShowTheExpectedUsageAndItsEstimatedPart) {
  Make();
  MeasureCpu({{"n1", 20}, {"n2", 70}});
  framework::CycleState state;
  framework::ScratchPool scratch;
  const cluster::PodInfo pod = cluster.Prepare(MakePod());
  const auto parts =
      plugin->ScoreParts(framework::Attempt(pod, cluster.nodes(), state, scratch), cluster.nodes().all());
  ASSERT_EQ(parts.size(), 1U);
  const cluster::Row row = cluster.RowOf("n1");
  EXPECT_DOUBLE_EQ(parts[0].load[row], 30);
  EXPECT_DOUBLE_EQ(parts[0].estimated[row], 10);
  EXPECT_EQ(parts[0].score[row], 85);
}

TEST(TargetLoadPackingArgs, AreThoseOfSchedulerPlugins) {
  const auto parse = [](const std::string& text) {
    const auto value = yaml::ParseValue(text);
    return ParseTargetLoadPackingArgs({&*value, "args"});
  };
  const auto args = parse(
      "{apiVersion: kubescheduler.config.k8s.io/v1, kind: TargetLoadPackingArgs, defaultRequests: {cpu: "
      "250m}, "
      "defaultRequestsMultiplier: '2', targetUtilization: 70, metricProvider: {type: Prometheus, address: "
      "'http://p:9090', token: t, insecureSkipVerify: false}}");
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(args->default_request_milli_cpu, 250);
  EXPECT_EQ(args->request_multiplier, 2);
  EXPECT_EQ(args->target_utilization, 70);
  EXPECT_EQ(args->trimaran.provider.token, "t");
  EXPECT_FALSE(args->trimaran.provider.insecure_skip_verify);
  EXPECT_EQ(parse("{metricProvider: {type: Prometheus}, targetUtilization: -3}")->target_utilization, 40);
  const struct {
    std::string text, error;
  } cases[] = {
      {"{}",
       "args.metricProvider.type: Unsupported value: \"KubernetesMetricsServer\": supported values: "
       "\"Prometheus\"; for other providers run load-watcher and set watcherAddress"},
      {"{metricProvider: {type: SignalFx}}", "Unsupported value: \"SignalFx\""},
      {"{watcherAddress: 'load-watcher:2020'}", "args.watcherAddress: Invalid value: \"load-watcher:2020\""},
      {"{metricProvider: {type: Prometheus, adress: x}}", "unknown field \"metricProvider.adress\""},
      {"{watcherAddress: 'http://w', defaultRequestsMultiplier: much}", "args.defaultRequestsMultiplier"},
      {"{watcherAddress: 'http://w', defaultRequestsMultiplier: '-1'}", "args.defaultRequestsMultiplier"},
      {"{watcherAddress: 'http://w', defaultRequestsMultiplier: inf}", "args.defaultRequestsMultiplier"},
      {"{watcherAddress: 'http://w', targetUtilization: 101}", "args.targetUtilization: Invalid value: 101"},
      {"{watcherAddress: 'http://w', defaultRequests: {cpu: x}}",
       "defaultRequests.cpu: Invalid value: \"x\""},
      {"{watcherAddress: 'http://w', unmeasuredNodes: best}", "unmeasuredNodes: Unsupported value: \"best\""},
      {"{watcherAddress: 'http://w', holdFor: 0s}", "args.holdFor: Invalid value"},
  };
  for (const auto& [text, error] : cases) EXPECT_THAT(parse(text).error().message, HasSubstr(error)) << text;
}

// What load-watcher reads: average and deviation of 15 minutes.
TEST(TrimaranSignals, PrometheusIsQueriedForAverageAndDeviation) {
  TrimaranArgs args;
  args.provider = {.type = "Prometheus", .address = {}, .token = {}};
  const auto average = LoadSignalOf(args, NodeLoad::kMemory, LoadStatistic::kAverage);
  EXPECT_EQ(average.source, "http://prometheus-k8s:9090");
  EXPECT_EQ(average.expression,
            "avg_over_time((100 * (1 - max by ($node) (node_memory_MemAvailable_bytes) / max by ($node) "
            "(node_memory_MemTotal_bytes)))[15m0s:1m])");
  EXPECT_EQ(LoadSignalOf(args, NodeLoad::kCpu, LoadStatistic::kAverage).expression,
            "100 * (" + BusyShareOf("15m0s") + ")");
  EXPECT_FALSE(average.access.insecure_skip_verify) << "as in load-watcher, only with a token";
  args.provider.token = "t";
  const auto deviation = LoadSignalOf(args, NodeLoad::kCpu, LoadStatistic::kDeviation);
  EXPECT_THAT(deviation.expression, HasSubstr("stddev_over_time((100 * (1 - avg by ($node) (rate("));
  EXPECT_EQ(deviation.access.bearer_token, "t");
  EXPECT_TRUE(deviation.access.insecure_skip_verify);
}

}  // namespace
}  // namespace berth::plugins
