#include "scheduler/plugins/network_traffic/network_traffic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/load_metrics.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::Measure;
using berth::testing::NodeScores;
using ::testing::HasSubstr;
using Values = std::vector<std::pair<std::string, double>>;
using namespace std::chrono_literals;

struct TrafficCluster {
  TrafficCluster() { cluster.handle().signals.SetClock(clock); }

  void Make(const Values& nodes, NetworkTrafficArgs::Mode mode = NetworkTrafficArgs::Mode::kRate) {
    Values ages;
    for (const auto& [node, value] : nodes) {
      cluster.Add(MakeNode(node));
      ages.emplace_back(node, 10);
    }
    NetworkTrafficArgs args{.prometheus_address = "http://p:9090"};
    args.mode = mode;
    plugin = std::make_unique<NetworkTraffic>("NetworkTraffic", args, cluster.handle());
    if (mode == NetworkTrafficArgs::Mode::kRate) {
      Measure(cluster, "network receive: age", ages);
      Measure(cluster, "network receive: samples", ages);
    }
    Measure(cluster, "network receive", nodes, clock.Now());
  }
  NodeScores Scores() { return cluster.Scores(*plugin, MakePod()); }

  ManualClock clock;
  Cluster cluster;
  std::unique_ptr<NetworkTraffic> plugin;
};
struct NetworkTrafficTest : ::testing::Test, TrafficCluster {};

// The values of the tutorial, and cases beyond it.
TEST(NetworkTraffic, TheBusiestNodeScoresZeroAndOthersRelativeToIt) {
  const struct {
    Values traffic;
    NodeScores scores;
  } cases[] = {
      {{{"a", 1000000}, {"b", 1200000}, {"c", 1400000}}, {{"a", 29}, {"b", 15}, {"c", 0}}},
      {{{"n5", 312528236767},
        {"n3", 327333347411},
        {"n1", 321718404122},
        {"n4", 224935743744},
        {"n6", 415270171795},
        {"n2", 270270915134}},
       {{"n5", 25}, {"n3", 22}, {"n1", 23}, {"n4", 46}, {"n6", 0}, {"n2", 35}}},
      {{{"a", 0}, {"b", 0}}, {{"a", 100}, {"b", 100}}},
      {{{"a", 0}, {"b", 5}}, {{"a", 100}, {"b", 0}}},
      {{{"a", 1e300}, {"b", 1}}, {{"a", 0}, {"b", 100}}},
  };
  for (const auto mode : {NetworkTrafficArgs::Mode::kClassic, NetworkTrafficArgs::Mode::kRate}) {
    for (const auto& [traffic, scores] : cases) {
      TrafficCluster fresh;
      fresh.Make(traffic, mode);
      EXPECT_EQ(fresh.Scores(), scores);
    }
  }
}

TEST_F(NetworkTrafficTest, WithoutMeasurementsAllNodesScoreEqually) {
  Make({{"a", 1}});
  cluster.Add(MakeNode("b"));
  Measure(cluster, "network receive", {});
  EXPECT_EQ(Scores(), (NodeScores{{"a", 100}, {"b", 100}}));
}

TEST_F(NetworkTrafficTest, ANodeWithoutAValueCountsAsTheMedian) {
  Make({{"a", 100}, {"b", 200}, {"c", 400}});
  cluster.Add(MakeNode("new"));
  EXPECT_EQ(Scores(), (NodeScores{{"a", 75}, {"b", 50}, {"c", 0}, {"new", 50}}));
}

TEST_F(NetworkTrafficTest, FractionsOfLinkSpeedsAreUsedIfAllAreKnown) {
  Make({{"a", 100}, {"b", 100}});
  Measure(cluster, "network speed", {{"a", 1000}, {"b", 10000}});
  EXPECT_EQ(Scores(), (NodeScores{{"a", 90}, {"b", 99}}));
  cluster.Add(MakeNode("new"));
  EXPECT_EQ(Scores().at("new"), 90) << "the median of two is the upper one";
  Measure(cluster, "network speed", {{"a", 1000}});
  EXPECT_EQ(Scores(), (NodeScores{{"a", 0}, {"b", 0}, {"new", 0}})) << "one is unknown: bytes are compared";
}

// As in the tutorial: placed pods change a score only through the measurements.
TEST_F(NetworkTrafficTest, ClassicScoresAreIdenticalForEveryPod) {
  Make({{"n4", 54}, {"n5", 75}, {"n6", 100}}, NetworkTrafficArgs::Mode::kClassic);
  const NodeScores first = Scores();
  EXPECT_EQ(first, (NodeScores{{"n4", 46}, {"n5", 25}, {"n6", 0}}));
  for (int i = 0; i < 20; ++i) {
    cluster.Run("n4", MakePod("p" + std::to_string(i)));
    EXPECT_EQ(Scores(), first);
  }
}

TEST_F(NetworkTrafficTest, TheFirstEstimateOfAPodIsATenthOfANode) {
  Make({{"a", 100}, {"b", 100}});
  cluster.Run("a", MakePod("first"));
  EXPECT_EQ(Scores(), (NodeScores{{"a", 0}, {"b", 10}})) << "110 and 100";
}

TEST_F(NetworkTrafficTest, QueriesContainTheInterfaceAndTheRange) {
  Make({{"a", 1}}, NetworkTrafficArgs::Mode::kClassic);
  auto& measurements = cluster.handle().signals;
  EXPECT_EQ(measurements.signal(berth::testing::FindSignal(measurements, "network receive")).spec.expression,
            "max by ($node) (sum_over_time(node_network_receive_bytes_total{device=\"ens192\"}[5m0s]))");
}

TEST(NetworkTrafficArgs, AliasesAreAcceptedAndErrorsReported) {
  const auto parse = [](const std::string& text) {
    const auto value = yaml::ParseValue(text);
    return ParseNetworkTrafficArgs({&*value, "args"});
  };
  for (const auto* text : {"{prometheusAddress: 'http://p', networkInterface: eth0, timeRangeInMinutes: 3}",
                           "{ip: 'http://p', deviceName: eth0, timeRange: 3}",
                           "{ip: 'http://p', device_name: eth0, time_range: 3, mode: rate}"}) {
    const auto args = parse(text);
    ASSERT_TRUE(args) << args.error().message;
    EXPECT_EQ(args->prometheus_address, "http://p");
    EXPECT_EQ(args->network_interface, "eth0");
    EXPECT_EQ(args->time_range_in_minutes, 3);
  }
  const struct {
    std::string text, error;
  } cases[] = {
      {"{}", "args.prometheusAddress: Required value"},
      {"{prometheusAddress: 'p:9090'}",
       "args.prometheusAddress: Invalid value: \"p:9090\": must begin with http://"},
      {"{prometheusAddress: 'http://p', timeRangeInMinutes: 0}", "args.timeRangeInMinutes: Invalid value: 0"},
      {"{prometheusAddress: 'http://p', mode: old}", "mode: Unsupported value: \"old\""},
  };
  for (const auto& [text, error] : cases) EXPECT_THAT(parse(text).error().message, HasSubstr(error)) << text;
}

}  // namespace
}  // namespace berth::plugins
