#include "scheduler/plugins/load_variation_risk_balancing/load_variation_risk_balancing.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/load_metrics.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeContainer;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::Measure;

struct LoadVariationTest : ::testing::Test {
  LoadVariationTest() {
    for (const auto* name : {"n1", "n2", "n3"}) cluster.Add(MakeNode(name).Cpu("10").Memory("10Gi"));
  }
  void Make(const std::string& more = "") {
    if (plugin != nullptr) replaced.push_back(std::move(plugin));
    plugin =
        cluster.Make<LoadVariationRiskBalancing>("{watcherAddress: 'http://load-watcher:2020'" + more + "}");
  }
  void MeasureNode(const std::string& signal, double value) { Measure(cluster, signal, {{"n1", value}}); }
  std::int64_t ScoreOf(const api::Pod& pod, const std::string& node = "n1") {
    return cluster.Scores(*plugin, pod).at(node);
  }

  Cluster cluster;
  std::unique_ptr<LoadVariationRiskBalancing> plugin;
  std::vector<std::unique_ptr<LoadVariationRiskBalancing>>
      replaced;  // they listen to the measurements of the cluster
};

TEST_F(LoadVariationTest, TheRiskIsTheMeanOfLoadAndVariation) {
  const struct {
    std::string args;
    std::int64_t score;
  } cases[] = {
      {"", 70},
      {", safeVarianceMargin: 2, safeVarianceSensitivity: 2", 43},
      {", safeVarianceMargin: 0", 75},
      {", safeVarianceSensitivity: 0", 75},
      {", safeVarianceMargin: 100", 25},
      {", safeVarianceMargin: -1, safeVarianceSensitivity: -1", 70},
  };
  for (const auto& [args, score] : cases) {
    Make(args);
    MeasureNode("cpu average", 40);
    MeasureNode("cpu deviation", 10);
    EXPECT_EQ(ScoreOf(MakePod().Cpu("1")), score) << args;
  }
}

TEST_F(LoadVariationTest, TheResourceWithTheHigherRiskCounts) {
  Make();
  MeasureNode("cpu average", 40);
  MeasureNode("cpu deviation", 0);
  EXPECT_EQ(ScoreOf(MakePod()), 80) << "only cpu is measured";
  MeasureNode("memory average", 60);
  EXPECT_EQ(ScoreOf(MakePod()), 70);
  EXPECT_EQ(ScoreOf(MakePod().Cpu("9")), 50);
  EXPECT_EQ(ScoreOf(MakePod().Init(MakeContainer().Memory("3Gi"))), 55);
}

TEST_F(LoadVariationTest, AnUnmeasuredNodeCountsAsTheMediansOrScoresZero) {
  Make();
  Measure(cluster, "cpu average", {{"n1", 40}, {"n2", 40}});
  Measure(cluster, "cpu deviation", {{"n1", 10}, {"n2", 10}});
  EXPECT_EQ(ScoreOf(MakePod(), "n3"), 75);
  Make(", unmeasuredNodes: zero");
  Measure(cluster, "cpu average", {{"n1", 40}, {"n2", 40}});
  EXPECT_EQ(ScoreOf(MakePod(), "n1"), 75);
  EXPECT_EQ(ScoreOf(MakePod(), "n3"), 0);
}

TEST_F(LoadVariationTest, WithoutMeasurementsAllNodesScoreZero) {
  Make();
  EXPECT_EQ(ScoreOf(MakePod()), 0);
}

}  // namespace
}  // namespace berth::plugins
