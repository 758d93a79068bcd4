#include "scheduler/plugins/cpu_usage/cpu_usage.hpp"

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
using namespace std::chrono_literals;

struct CpuUsageTest : ::testing::Test {
  CpuUsageTest() {
    for (const auto* name : {"n1", "n2", "n3"}) cluster.Add(MakeNode(name).Cpu("10"));
    cluster.handle().signals.SetClock(clock);
    plugin = std::make_unique<CpuUsage>("custom", CpuUsageArgs{}, cluster.handle());
  }
  NodeScores Scores() { return cluster.Scores(*plugin, MakePod()); }
  // Answers the guards; without them the signal has no values.
  void Guarded() {
    Measure(cluster, "cpu: age", {{"n1", 10}, {"n2", 10}, {"n3", 10}});
    Measure(cluster, "cpu: samples", {{"n1", 20}, {"n2", 20}, {"n3", 20}});
  }

  ManualClock clock;
  Cluster cluster;
  std::unique_ptr<CpuUsage> plugin;
};

TEST_F(CpuUsageTest, ScoresTheIdlePercentage) {
  Guarded();
  Measure(cluster, "cpu", {{"n1", 42.72}, {"n2", 0}, {"n3", 100}}, clock.Now());
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 57}, {"n2", 100}, {"n3", 0}}));
}

TEST_F(CpuUsageTest, ScoresZeroWithoutMeasurements) {
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 0}, {"n2", 0}, {"n3", 0}}));
}

TEST_F(CpuUsageTest, ANodeWithoutAValueIsScoredAsTheMedian) {
  Guarded();
  Measure(cluster, "cpu", {{"n1", 10}, {"n2", 90}}, clock.Now());
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 90}, {"n2", 10}, {"n3", 10}}));
}

TEST_F(CpuUsageTest, ValuesOfNewOrFailingNodesAreSuppressed) {
  Guarded();
  Measure(cluster, "cpu: samples", {{"n1", 20}, {"n2", 3}, {"n3", 20}});
  Measure(cluster, "cpu", {{"n1", 30}, {"n2", 99}, {"n3", 30}}, clock.Now());
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 70}, {"n2", 70}, {"n3", 70}}));
}

TEST_F(CpuUsageTest, UnmeasuredPodsCountByTheirRequests) {
  Guarded();
  Measure(cluster, "cpu", {{"n1", 10}, {"n2", 10}, {"n3", 10}}, clock.Now());
  clock.Advance(1s);
  cluster.Run("n1", MakePod("a").Cpu("2"));
  cluster.Run("n2", MakePod("b").Cpu("1")).Run("n2", MakePod("c"));
  EXPECT_EQ(Scores(), (NodeScores{{"n1", 70}, {"n2", 79}, {"n3", 90}}))
      << "a pod without requests counts 100m";
  // The assumed start is 10 s after the decision and samples are 15 s old, so half of the window has passed.
  clock.Advance(150s + 25s);
  Measure(cluster, "cpu", {{"n1", 10}, {"n2", 10}, {"n3", 10}}, clock.Now());
  EXPECT_EQ(Scores().at("n1"), 80);
  clock.Advance(150s);
  Measure(cluster, "cpu", {{"n1", 30}, {"n2", 10}, {"n3", 10}}, clock.Now());
  EXPECT_EQ(Scores().at("n1"), 70) << "by now the measurement shows all of it";
}

TEST(CpuUsageArgs, ReportValidationErrors) {
  Cluster cluster;
  const auto error = [&](const std::string& args) {
    const auto value = yaml::ParseValue(args);
    const auto made =
        CpuUsage::Factory("CPUUsage")({&*value, "profiles[0].pluginConfig[0].args"}, cluster.handle());
    return made ? std::string("fine") : made.error().message;
  };
  EXPECT_EQ(error("{}"), "fine");
  EXPECT_EQ(error("{prometheusAddress: main}"), "fine");
  EXPECT_THAT(
      error("{prometheusAddress: 'p:9090'}"),
      HasSubstr(
          "profiles[0].pluginConfig[0].args.prometheusAddress: Invalid value: \"p:9090\": must begin with"));
  EXPECT_THAT(error("{prometheusAddress: ''}"), HasSubstr("Required value"));
  EXPECT_THAT(error("{window: 0s}"),
              HasSubstr("args.window: Invalid value: \"0s\": must be greater than zero"));
  EXPECT_THAT(error("{window: soon}"), HasSubstr("window: Invalid value: \"soon\": expected a duration"));
  EXPECT_THAT(error("{windw: 1m}"), HasSubstr("unknown field \"windw\""));
}

}  // namespace
}  // namespace berth::plugins
