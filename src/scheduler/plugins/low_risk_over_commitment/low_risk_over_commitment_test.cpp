#include "scheduler/plugins/low_risk_over_commitment/low_risk_over_commitment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "scheduler/plugins/low_risk_over_commitment/load_distribution.hpp"
#include "testing/load_metrics.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeContainer;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::Measure;
using ::testing::HasSubstr;

// Of the uniform distribution between 0 and 1.
const double kUniformDeviation = std::sqrt(1.0 / 12);

struct OverCommitmentTest : ::testing::Test {
  OverCommitmentTest() {
    for (const auto* name : {"n1", "n2"}) cluster.Add(MakeNode(name).Cpu("10").Memory("10Gi"));
  }
  void Make(const std::string& more = "") {
    if (plugin != nullptr) replaced.push_back(std::move(plugin));
    plugin = cluster.Make<LowRiskOverCommitment>("{watcherAddress: 'http://load-watcher:2020'" + more + "}");
  }
  void MeasureCpu(double average, double deviation) {
    Measure(cluster, "cpu average", {{"n1", average}});
    Measure(cluster, "cpu deviation", {{"n1", deviation}});
  }
  static api::Pod PodWith(const std::string& request, const std::string& limit,
                          const std::string& name = "p") {
    return MakePod(name).Container(MakeContainer().Cpu(request).Limit("cpu", limit));
  }
  std::int64_t ScoreOf(const api::Pod& pod, const std::string& node = "n1") {
    return cluster.Scores(*plugin, pod).at(node);
  }

  Cluster cluster;
  std::unique_ptr<LowRiskOverCommitment> plugin;
  std::vector<std::unique_ptr<LowRiskOverCommitment>>
      replaced;  // they listen to the measurements of the cluster
};

TEST_F(OverCommitmentTest, LimitsBeyondTheNodeAreARiskInProportionToWhatExceedsTheRequests) {
  Make(", riskLimitWeights: {cpu: 1}");
  MeasureCpu(0, 0);
  EXPECT_EQ(ScoreOf(PodWith("5", "10")), 100);
  EXPECT_EQ(ScoreOf(PodWith("5", "15")), 50);
  cluster.Run("n1", PodWith("5", "15", "there"));
  EXPECT_EQ(ScoreOf(PodWith("5", "15")), 0) << "20 of 20 cores";
  EXPECT_EQ(ScoreOf(PodWith("1", "1")), 40) << "6 of 10 cores";
}

TEST_F(OverCommitmentTest, LoadAboveTheRequestsOfTheNodesPodsIsARisk) {
  Make(", riskLimitWeights: {cpu: 0}, smoothingWindowSize: 1");
  const api::Pod small = PodWith("100m", "100m");
  cluster.Run("n1", PodWith("2500m", "10", "there"));
  MeasureCpu(50, 100 * kUniformDeviation);
  EXPECT_EQ(ScoreOf(small), 25) << "a quarter of the distribution is within the requests";
  MeasureCpu(20, 0);
  EXPECT_EQ(ScoreOf(small), 100) << "a constant load within the requests";
  MeasureCpu(30, 0);
  EXPECT_EQ(ScoreOf(small), 0) << "a constant load above the requests";
}

TEST_F(OverCommitmentTest, LimitsWithinTheNodeBoundTheLoad) {
  Make(", riskLimitWeights: {cpu: 0}, smoothingWindowSize: 1");
  cluster.Run("n1", PodWith("2500m", "5", "there"));
  MeasureCpu(50, 100 * kUniformDeviation);
  EXPECT_EQ(ScoreOf(PodWith("100m", "100m")), 50) << "a quarter of what is below the limits";
}

TEST_F(OverCommitmentTest, PodsOfTheNodeAreFollowed) {
  Make(", riskLimitWeights: {cpu: 0}");
  MeasureCpu(30, 0);
  const api::Pod small = PodWith("100m", "20");
  cluster.Run("n1", PodWith("5", "20", "there"));
  EXPECT_EQ(ScoreOf(small), 100);
  const cluster::Row row = cluster.RowOf("n1");
  cluster.nodes().RemovePod(row, *cluster.nodes().pods(row).front());
  cluster.Run("n1", PodWith("1", "20", "other"));
  EXPECT_EQ(ScoreOf(small), 0);
}

TEST_F(OverCommitmentTest, PodsWithoutRequestsAndLimitsAreNotScored) {
  Make();
  MeasureCpu(10, 0);
  EXPECT_EQ(ScoreOf(MakePod()), 0);
}

TEST_F(OverCommitmentTest, AnUnmeasuredNodeCountsAsTheMediansOrScoresZero) {
  Make();
  MeasureCpu(30, 0);
  EXPECT_EQ(ScoreOf(PodWith("1", "1"), "n2"), 100) << "no pods: limits of 0 bound the load";
  Make(", unmeasuredNodes: zero");
  MeasureCpu(30, 0);
  Measure(cluster, "any metric", {{"n1", 1}});
  EXPECT_EQ(ScoreOf(PodWith("1", "1"), "n1"), 100);
  EXPECT_EQ(ScoreOf(PodWith("1", "1"), "n2"), 0);
}

TEST(LoadDistribution, ExtremeInputsHaveDefinedResults) {
  const struct {
    std::string name;
    double mean, deviation, share, below;
  } cases[] = {
      {"no load", 0, 0.2, 0, 1},
      {"constant, below", 0.5, 0, 0.5, 1},
      {"constant, above", 0.5, 0, 0.4, 0},
      {"uniform", 0.5, kUniformDeviation, 0.3, 0.3},
      {"the whole range", 0.5, 0.1, 1, 1},
      {"nothing", 0.5, 0.1, 0, 0},
      {"more deviation than a Beta distribution can have", 0.5, 0.6, 0.5, 0},
      {"a deviation that is rounded to zero", 0.5, 1e-12, 0.9, 0},
      {"a very small deviation", 0.5, 1e-5, 0.6, 1},
      {"a very small mean", 1e-9, 1e-5, 0.5, 1},
  };
  for (const auto& [name, mean, deviation, share, below] : cases)
    EXPECT_NEAR(LoadDistribution(mean, deviation).Below(share), below, 1e-9) << name;
}

// The probability is divided by another one, so even the smallest must not be rounded to zero.
TEST(LoadDistribution, TheSmallestProbabilitiesAreNotZero) {
  const double tiny = LoadDistribution(0.9027, 0.01602).Below(0.0705);
  EXPECT_GT(tiny, 0);
  EXPECT_LT(tiny, 1e-300);
}

TEST(OverCommitmentArgs, WeightsOutOfRangeGetTheDefaultAndUnknownResourcesAreErrors) {
  const auto parse = [](const std::string& text) {
    const auto value = yaml::ParseValue(text);
    return ParseOverCommitmentArgs({&*value, "args"});
  };
  const auto args = parse(
      "{watcherAddress: 'http://w', smoothingWindowSize: 0, riskLimitWeights: {cpu: 1.5, memory: 0.3}}");
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(args->smoothing_window, 5);
  EXPECT_EQ(args->cpu_limit_weight, 0.5);
  EXPECT_EQ(args->memory_limit_weight, 0.3);
  EXPECT_THAT(parse("{watcherAddress: 'http://w', riskLimitWeights: {gpu: 1}}").error().message,
              HasSubstr("unknown field \"riskLimitWeights.gpu\""));
}

}  // namespace
}  // namespace berth::plugins
