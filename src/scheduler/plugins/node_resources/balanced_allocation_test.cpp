#include "scheduler/plugins/node_resources/balanced_allocation.hpp"

#include <gtest/gtest.h>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;

PodBuilder Pod(std::string_view cpu, std::string_view memory) { return MakePod("p").Cpu(cpu).Memory(memory); }

struct BalanceCase {
  std::string name;
  PodBuilder there, pod;
  std::int64_t score;
  std::string args = "";
};
class Balance : public ::testing::TestWithParam<BalanceCase> {};
TEST_P(Balance, ReflectsWhetherThePodImprovesTheBalance) {
  Cluster cluster;
  cluster.Add(MakeNode("n").Cpu("4").Memory("8Gi").Allocatable("example.com/gpu", "8"));
  cluster.Run("n", GetParam().there);
  const auto plugin = cluster.Make<NodeResourcesBalancedAllocation>(GetParam().args);
  EXPECT_EQ(cluster.Scores(*plugin, GetParam().pod).at("n"), GetParam().score);
}
constexpr const char* kThree =
    "resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}, {name: example.com/gpu, weight: 1}]";
INSTANTIATE_TEST_SUITE_P(
    Table, Balance,
    ::testing::Values(BalanceCase{"NoChangeIs75", Pod("0", "0"), Pod("1", "2Gi"), 75},
                      BalanceCase{"TiltedHalfWay", Pod("0", "0"), Pod("2", "0"), 62},
                      BalanceCase{"TiltedAllTheWayIs50", Pod("0", "0"), Pod("4", "0"), 50},
                      BalanceCase{"Evened", Pod("2", "0"), Pod("0", "4Gi"), 87},
                      BalanceCase{"EvenedAllTheWayIs100", Pod("4", "0"), Pod("0", "8Gi"), 100},
                      BalanceCase{"TruncatedTwice", Pod("2500m", "3Gi"), Pod("1", "1Gi"), 72},
                      BalanceCase{"TwoThirdsOfTheWay", Pod("3", "2Gi"), Pod("1", "0"), 68},
                      BalanceCase{"NearlyTheSame", Pod("1300m", "1Gi"), Pod("250m", "512Mi"), 75},
                      BalanceCase{"BeyondCapacityCountsAsFull", Pod("4", "8Gi"), Pod("4", "0"), 75},
                      BalanceCase{"DefaultsDoNotCount", MakePod("there"), Pod("2", "0"), 62},
                      // 1/4, 2/4, 8/8 after nothing: deviation 0.3118 -> 68.
                      BalanceCase{"ThreeResourcesByStandardDeviation", Pod("0", "0"),
                                  Pod("1", "4Gi").Request("example.com/gpu", "8"), 59, kThree},
                      BalanceCase{"AScalarThePodDoesNotAskForIsDropped", Pod("0", "0"), Pod("2", "0"), 62,
                                  kThree},
                      BalanceCase{"OneResourceIsAlwaysBalanced", Pod("0", "0"), Pod("2", "0"), 75,
                                  "resources: [{name: cpu, weight: 1}]"}),
    [](const auto& row) { return row.param.name; });

struct SkipCase {
  std::string name;
  PodBuilder pod;
  std::string args;
  bool skip;
};
class BalancePreScore : public ::testing::TestWithParam<SkipCase> {};
TEST_P(BalancePreScore, SkipsPodsWithoutRelevantRequests) {
  Cluster cluster;
  cluster.Add(MakeNode("n").Cpu("4"));
  const auto plugin = cluster.Make<NodeResourcesBalancedAllocation>(GetParam().args);
  EXPECT_EQ(cluster.PreScore(*plugin, GetParam().pod).skip(), GetParam().skip);
}
INSTANTIATE_TEST_SUITE_P(
    Table, BalancePreScore,
    ::testing::Values(SkipCase{"Nothing", MakePod(), "", true},
                      SkipCase{"Zero", MakePod().Cpu("0"), "", true},
                      SkipCase{"Cpu", MakePod().Cpu("1m"), "", false},
                      SkipCase{"OverheadCounts", MakePod().Overhead("cpu", "1m"), "", false},
                      SkipCase{"SomethingElse", MakePod().Request("example.com/gpu", "1"), "", true},
                      SkipCase{"WhatIsConfigured", MakePod().Request("example.com/gpu", "1"),
                               "resources: [{name: example.com/gpu, weight: 1}]", false},
                      SkipCase{"WhatNodesDoNotCountButPodsAskFor", MakePod().Request("storage", "1"),
                               "resources: [{name: storage, weight: 1}]", false}),
    [](const auto& row) { return row.param.name; });

TEST(BalanceArgs, HaveTheErrorsOfKubeScheduler) {
  Cluster cluster;
  const auto error = [&](const std::string& args) {
    return cluster.TryMake<NodeResourcesBalancedAllocation>(args).error().message;
  };
  EXPECT_EQ(error("resources: [{name: cpu, weight: 2}]"),
            "profiles[0].pluginConfig[0].args.resources[0].weight: Invalid value: 2: must be 1");
  EXPECT_EQ(error("resources: [{name: cpu, weight: 1}, {name: cpu, weight: 1}]"),
            "profiles[0].pluginConfig[0].args.resources[1].name: Duplicate value: \"cpu\"");
  EXPECT_EQ(error("weights: []"), "strict decoding error: unknown field \"weights\"");
}

}  // namespace
}  // namespace berth::plugins
