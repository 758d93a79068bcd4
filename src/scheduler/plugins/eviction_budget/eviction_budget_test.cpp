#include "scheduler/plugins/eviction_budget/eviction_budget.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using std::chrono::seconds;
using ::testing::HasSubstr;

// --- arguments ---

struct EvictionBudgetArgsCase {
  std::string name;
  std::string args;
  std::string error;  // empty: none; without the path of the arguments
};
class EvictionBudgetArguments : public ::testing::TestWithParam<EvictionBudgetArgsCase> {};
TEST_P(EvictionBudgetArguments, AreValidated) {
  Cluster cluster;
  const auto made = cluster.TryMake<EvictionBudget>(GetParam().args);
  if (GetParam().error.empty()) {
    EXPECT_TRUE(made) << made.error().message;
  } else {
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr(GetParam().error));
  }
}
INSTANTIATE_TEST_SUITE_P(
    Table, EvictionBudgetArguments,
    ::testing::Values(
        EvictionBudgetArgsCase{"Absent", "", ""},
        EvictionBudgetArgsCase{
            "Complete",
            "{minRunSeconds: 60, budgets: [{namespace: a, evictions: 0, period: 1s}, {namespace: '*', "
            "evictions: 10000, period: 720h}]}",
            ""},
        EvictionBudgetArgsCase{"NegativeRunTime", "{minRunSeconds: -1}",
                               "args.minRunSeconds: Invalid value: -1: must be from 0 to 2592000"},
        EvictionBudgetArgsCase{"TooLongRunTime", "{minRunSeconds: 2592001}",
                               "args.minRunSeconds: Invalid value: 2592001: must be from 0 to 2592000"},
        EvictionBudgetArgsCase{"NoNamespace", "{budgets: [{evictions: 1}]}",
                               "args.budgets[0].namespace: Required value: must be a namespace, or \"*\" for "
                               "each of the others"},
        EvictionBudgetArgsCase{
            "InvalidNamespace", "{budgets: [{namespace: team-*, evictions: 1}]}",
            "args.budgets[0].namespace: Invalid value: \"team-*\": must be a namespace, or \"*\" for each of "
            "the others"},
        EvictionBudgetArgsCase{"TheSameNamespaceTwice", "{budgets: [{namespace: a}, {namespace: a}]}",
                               "args.budgets[1].namespace: Duplicate value: \"a\""},
        EvictionBudgetArgsCase{"TooManyEvictions", "{budgets: [{namespace: a, evictions: 10001}]}",
                               "args.budgets[0].evictions: Invalid value: 10001: must be from 0 to 10000"},
        EvictionBudgetArgsCase{
            "TooShortPeriod", "{budgets: [{namespace: a, period: 10ms}]}",
            "args.budgets[0].period: Invalid value: \"10ms\": must be from 1s to 720h0m0s"},
        EvictionBudgetArgsCase{"NoDuration", "{budgets: [{namespace: a, period: an hour}]}", "an hour"},
        EvictionBudgetArgsCase{"UnknownField", "{budgets: [{namespace: a, eviction: 1}]}",
                               "unknown field \"budgets[0].eviction\""}),
    [](const auto& row) { return row.param.name; });

// --- history ---

constexpr EvictionLimit kTwoInTen{.evictions = 2, .period = 10};

TEST(EvictionHistoryTest, CountsEvictionsWithinThePeriod) {
  EvictionHistory history;
  history.Add("a", "u1", 100, kTwoInTen, 100);
  history.Add("a", "u2", 105, kTwoInTen, 105);
  EXPECT_EQ(history.Count("a", kTwoInTen, 109), 2U);
  EXPECT_EQ(history.Count("a", kTwoInTen, 110), 1U);
  EXPECT_EQ(history.Count("a", kTwoInTen, 115), 0U);
  EXPECT_EQ(history.Count("b", kTwoInTen, 105), 0U);
}

TEST(EvictionHistoryTest, APodCountsOnce) {
  EvictionHistory history;
  history.Add("a", "u1", 100, kTwoInTen, 100);
  history.Add("a", "u1", 101, kTwoInTen, 101);
  EXPECT_EQ(history.Count("a", kTwoInTen, 101), 1U);
}

TEST(EvictionHistoryTest, KeepsTheLatestEvictionsOfTheLimit) {
  EvictionHistory history;
  history.Add("a", "u2", 102, kTwoInTen, 103);
  history.Add("a", "u3", 103, kTwoInTen, 103);
  history.Add("a", "u1", 101, kTwoInTen, 103);
  EXPECT_EQ(history.Count("a", kTwoInTen, 103), 2U);
  EXPECT_EQ(history.AllowedAt("a", 1, kTwoInTen, 103), 112) << "u1 is not kept";
  EXPECT_EQ(history.AllowedAt("a", 2, kTwoInTen, 103), 113);
}

TEST(EvictionHistoryTest, AnEvictionIsAllowedAtOnceWithinTheLimit) {
  EvictionHistory history;
  history.Add("a", "u1", 100, kTwoInTen, 100);
  EXPECT_EQ(history.AllowedAt("a", 1, kTwoInTen, 101), 101);
  EXPECT_EQ(history.AllowedAt("a", 2, kTwoInTen, 101), 110);
}

TEST(EvictionHistoryTest, ATimeInTheFutureCountsAsNow) {
  EvictionHistory history;
  history.Add("a", "u1", 1000, kTwoInTen, 100);
  EXPECT_EQ(history.Count("a", kTwoInTen, 110), 0U);
}

TEST(EvictionHistoryTest, AClockThatIsSetBackDoesNotProlongThePeriod) {
  EvictionHistory history;
  history.Add("a", "u1", 1000, kTwoInTen, 1000);
  EXPECT_EQ(history.Count("a", kTwoInTen, 100), 1U);
  EXPECT_EQ(history.Count("a", kTwoInTen, 110), 0U);
}

TEST(EvictionHistoryTest, OldEvictionsAndThoseWithoutALimitAreNotKept) {
  EvictionHistory history;
  history.Add("a", "u1", 100, kTwoInTen, 110);
  history.Add("b", "u2", 100, {.evictions = 0, .period = 10}, 100);
  EXPECT_EQ(history.namespaces(), 0U);
}

TEST(EvictionHistoryTest, NamespacesWithoutRecentEvictionsAreForgotten) {
  EvictionHistory history;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = fmt::format("n{}", i);
    history.Add(name, name, 100 + i, kTwoInTen, 100 + i);
    EXPECT_LE(history.namespaces(), 64U);
  }
}

// --- the plugin ---

class EvictionBudgetTest : public ::testing::Test {
 protected:
  EvictionBudgetTest() { cluster.Add(MakeNode("n")); }
  void Use(const std::string& args) { plugin = cluster.Make<EvictionBudget>(args); }
  std::int64_t Ago(Duration ago) {
    return std::chrono::duration_cast<seconds>((cluster.loop().WallNow() - ago).time_since_epoch()).count();
  }
  PodBuilder Pod(const std::string& name, const std::string& ns = "a") {
    return MakePod(name).Namespace(ns).Uid("uid-" + name).OnNode("n");
  }
  // The reason; empty: it may be evicted.
  std::string Refusal(const api::Pod& pod) { return plugin->MayEvict({"x/high", 10}, pod).Message(); }
  std::string RefusalTogether(const std::vector<api::PodPtr>& victims) {
    std::vector<const api::Pod*> all;
    for (const api::PodPtr& victim : victims) all.push_back(victim.get());
    return plugin->MayEvictTogether({"x/high", 10}, all).Message();
  }
  void Evict(const std::vector<api::PodPtr>& victims) { plugin->OnEviction(victims); }

  Cluster cluster;
  std::unique_ptr<EvictionBudget> plugin;
};

TEST_F(EvictionBudgetTest, WithoutArgumentsEveryPodMayBeEvicted) {
  Use("");
  EXPECT_EQ(Refusal(Pod("p")), "");
  EXPECT_EQ(RefusalTogether({Pod("p"), Pod("q")}), "");
}

TEST_F(EvictionBudgetTest, ThePodThatHasNotStartedCountsFromItsBinding) {
  Use("{minRunSeconds: 60}");
  PodBuilder pod = Pod("p");
  EXPECT_EQ(Refusal(pod), "run time below 1m0s");
  pod.raw().status.scheduled_time = Ago(seconds(59));
  EXPECT_EQ(Refusal(pod), "run time below 1m0s");
  pod.raw().status.scheduled_time = Ago(seconds(60));
  EXPECT_EQ(Refusal(pod), "");
  pod.raw().status.start_time = Ago(seconds(1));
  EXPECT_EQ(Refusal(pod), "run time below 1m0s");
}

TEST_F(EvictionBudgetTest, ANamespaceHasItsOwnBudgetOrThatOfAllOthers) {
  Use("{budgets: [{namespace: '*', evictions: 1, period: 1h}, {namespace: a, evictions: 2, period: 30m}]}");
  Evict({Pod("p1"), Pod("p2"), Pod("q1", "b")});
  EXPECT_EQ(Refusal(Pod("p3")), "namespace a: 2 of 2 evictions in 30m0s");
  EXPECT_EQ(Refusal(Pod("q2", "b")), "namespace b: 1 of 1 evictions in 1h0m0s");
  EXPECT_EQ(Refusal(Pod("r1", "c")), "");
  cluster.loop().Pass(std::chrono::minutes(31));
  EXPECT_EQ(Refusal(Pod("p3")), "");
  EXPECT_EQ(Refusal(Pod("q2", "b")), "namespace b: 1 of 1 evictions in 1h0m0s");
}

TEST_F(EvictionBudgetTest, ANamespaceWithoutABudgetHasNoLimit) {
  Use("{budgets: [{namespace: a, evictions: 0}]}");
  EXPECT_EQ(Refusal(Pod("p")), "namespace a: 0 of 0 evictions in 1h0m0s");
  EXPECT_EQ(Refusal(Pod("q", "b")), "");
}

TEST_F(EvictionBudgetTest, PodsTogetherAreCountedByNamespace) {
  Use("{budgets: [{namespace: '*', evictions: 2}]}");
  EXPECT_EQ(RefusalTogether({Pod("p1"), Pod("p2"), Pod("q1", "b"), Pod("q2", "b")}), "");
  EXPECT_EQ(RefusalTogether({Pod("q1", "b"), Pod("p1"), Pod("p2"), Pod("p3")}),
            "namespace a: 0 of 2 evictions in 1h0m0s, 3 more needed");
}

TEST_F(EvictionBudgetTest, TerminatingPodsAndThoseWithoutANodeNeitherCountNorAreProtected) {
  Use("{minRunSeconds: 60, budgets: [{namespace: a, evictions: 1}]}");
  const api::PodPtr terminating = Pod("p1").Deleting();
  const api::PodPtr waiting = MakePod("p2").Namespace("a");
  EXPECT_EQ(Refusal(*terminating), "");
  EXPECT_EQ(Refusal(*waiting), "");
  EXPECT_EQ(RefusalTogether({terminating, waiting, Pod("p3")}), "");
  Evict({terminating, waiting});
  PodBuilder old = Pod("p4");
  old.raw().status.start_time = Ago(seconds(61));
  EXPECT_EQ(Refusal(old), "");
}

TEST_F(EvictionBudgetTest, TerminatingPodsShowTheEvictionsBeforeARestart) {
  const auto marked = [&](const std::string& name, const std::string& reason, Duration ago) {
    PodBuilder pod = Pod(name).Deleting();
    pod.raw().status.conditions.push_back(
        {.type = "DisruptionTarget",
         .status = "True",
         .reason = reason,
         .message = "",
         .last_transition_time = FormatTime(cluster.loop().WallNow() - ago)});
    return pod;
  };
  cluster.Run("n", marked("p1", "PreemptionByScheduler", std::chrono::minutes(59)));
  cluster.Run("n", marked("p2", "PreemptionByScheduler", std::chrono::minutes(61)));
  cluster.Run("n", marked("p3", "EvictionByEvictionAPI", std::chrono::minutes(1)));
  Use("{budgets: [{namespace: a, evictions: 2}]}");
  EXPECT_EQ(RefusalTogether({Pod("p4"), Pod("p5")}),
            "namespace a: 1 of 2 evictions in 1h0m0s, 2 more needed");
}

TEST_F(EvictionBudgetTest, TheNextInstanceOfTheProfileContinues) {
  Use("{budgets: [{namespace: a, evictions: 1}]}");
  Evict({Pod("p1")});
  const auto before = std::move(plugin);
  Use("{budgets: [{namespace: a, evictions: 1, period: 2h}]}");
  EXPECT_EQ(Refusal(Pod("p2")), "namespace a: 1 of 1 evictions in 2h0m0s");
}

}  // namespace
}  // namespace berth::plugins
