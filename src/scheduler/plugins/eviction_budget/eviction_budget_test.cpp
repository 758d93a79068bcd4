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
using ::testing::ElementsAre;
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
        EvictionBudgetArgsCase{"LoopsWithDefaults", "{loops: {}}", ""},
        EvictionBudgetArgsCase{"CompleteLoops", "{loops: {evictions: 2, window: 1s, pause: 24h}}", ""},
        EvictionBudgetArgsCase{"ALoopOfOneEviction", "{loops: {evictions: 1}}",
                               "args.loops.evictions: Invalid value: 1: must be from 2 to 100"},
        EvictionBudgetArgsCase{"TooShortWindow", "{loops: {window: 999ms}}",
                               "args.loops.window: Invalid value: \"999ms\": must be from 1s to 24h0m0s"},
        EvictionBudgetArgsCase{"TooLongPause", "{loops: {pause: 25h}}",
                               "args.loops.pause: Invalid value: \"25h0m0s\": must be from 1s to 24h0m0s"},
        EvictionBudgetArgsCase{"LoopsAreNoNumber", "{loops: 3}", "loops"},
        EvictionBudgetArgsCase{"UnknownFieldOfLoops", "{loops: {period: 1h}}",
                               "unknown field \"loops.period\""},
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

// --- loops ---

constexpr LoopLimit kThreeInHundred{.evictions = 3, .window = 100, .pause = 50};

// A pod of the Job, with a name and a UID of its own.
PodBuilder OfJob(const std::string& job, const std::string& name, std::int64_t started) {
  PodBuilder pod = MakePod(name).Namespace("a").Uid("uid-" + name).OnNode("n");
  pod.raw().metadata.controller =
      api::OwnerReference{.api_version = "batch/v1", .kind = "Job", .name = job, .uid = "uid-of-" + job};
  pod.raw().status.start_time = started;
  return pod;
}

class PreemptionLoopsTest : public ::testing::Test {
 protected:
  std::optional<PreemptionLoops::Loop> Evict(const api::Pod& victim, std::int64_t at,
                                             const api::Pod& preemptor) {
    return loops.Add(victim, PreemptionLoops::EvictorOf(preemptor), at, kThreeInHundred, at);
  }
  std::optional<PreemptionLoops::Loop> Evict(const std::string& name, std::int64_t started, std::int64_t at) {
    return Evict(OfJob("batch", name, started), at, urgent);
  }
  api::PodPtr urgent_shared = OfJob("urgent", "u", 0).Share();
  const api::Pod& urgent = *urgent_shared;
  PreemptionLoops loops;
};

TEST_F(PreemptionLoopsTest, TheEvictionThatCompletesALoopPausesTheWorkload) {
  EXPECT_FALSE(Evict("b1", 900, 1000));
  EXPECT_FALSE(Evict("b2", 1001, 1010));
  EXPECT_FALSE(loops.PausedUntil(OfJob("batch", "b3", 1011), 1019));
  const auto loop = Evict("b3", 1011, 1020);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->workload, "Job a/batch");
  EXPECT_THAT(loop->by, ElementsAre(PreemptionLoops::EvictorOf(urgent)));
  EXPECT_EQ(loop->by[0].text, "Job a/urgent");
  EXPECT_EQ(loop->paused_until, 1070);
  EXPECT_EQ(loops.Paused(1069), 1U);
  EXPECT_EQ(loops.PausedUntil(OfJob("batch", "b4", 0), 1069), 1070);
  EXPECT_FALSE(loops.PausedUntil(OfJob("other", "o", 0), 1069));
  EXPECT_FALSE(loops.PausedUntil(OfJob("batch", "b4", 0), 1070));
  EXPECT_EQ(loops.Paused(1070), 0U);
}

TEST_F(PreemptionLoopsTest, ReplicasThatRanBeforeTheLastEvictionAreNoLoop) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Evict("b" + std::to_string(i), 900 + i, 1000 + i));
  EXPECT_FALSE(Evict("c1", 1003, 1020)) << "the second eviction that counts";
  EXPECT_FALSE(Evict("c2", 1003, 1021)) << "another replica";
}

TEST_F(PreemptionLoopsTest, PodsThatAreEvictedTogetherCountOnce) {
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Evict("b" + std::to_string(i), 999, 1000));
}

TEST_F(PreemptionLoopsTest, AnEvictionThatIsReportedAgainCountsOnce) {
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Evict("b", 0, 1000 + i));
}

TEST_F(PreemptionLoopsTest, EvictionsOutsideOfTheWindowDoNotCount) {
  Evict("b1", 900, 1000);
  Evict("b2", 1001, 1050);
  EXPECT_FALSE(Evict("b3", 1051, 1100));
  EXPECT_TRUE(Evict("b4", 1101, 1149)) << "within 100 s of b2";
}

TEST_F(PreemptionLoopsTest, APodWithoutAControllerIsKnownByItsName) {
  const auto bare = [](const std::string& uid, const std::string& ns = "a") {
    PodBuilder pod = MakePod("bare").Namespace(ns).Uid(uid).OnNode("n");
    return pod;
  };
  EXPECT_FALSE(Evict(bare("1"), 1000, urgent));
  EXPECT_FALSE(Evict(bare("2"), 1010, urgent));
  EXPECT_FALSE(Evict(bare("3", "b"), 1020, urgent)) << "of another namespace";
  const auto loop = Evict(bare("4"), 1030, urgent);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->workload, "Pod a/bare");
}

TEST_F(PreemptionLoopsTest, APausedWorkloadEvictsNoPodsOfItsEvictors) {
  Evict("b1", 900, 1000);
  Evict("b2", 1001, 1010);
  Evict("b3", 1011, 1020);
  const api::Pod batch = OfJob("batch", "b4", 0);
  EXPECT_EQ(loops.PausedBetween(batch, urgent, 1069), 1070);
  EXPECT_FALSE(loops.PausedBetween(batch, OfJob("other", "o", 0), 1069));
  EXPECT_FALSE(loops.PausedBetween(urgent, batch, 1069)) << "its own pods are victims or not";
  EXPECT_FALSE(loops.PausedBetween(batch, urgent, 1070));
}

TEST_F(PreemptionLoopsTest, OfAnUnknownEvictorAllPodsOfItsSchedulerCount) {
  for (int i = 0; i < 3; ++i) {
    const std::int64_t at = 1000 + 10 * i;
    loops.Add(OfJob("batch", "b" + std::to_string(i), at - 1), {.key = {}, .text = {}, .scheduler = "second"},
              at, kThreeInHundred, at);
  }
  const api::Pod batch = OfJob("batch", "b4", 0);
  PodBuilder victim = MakePod("x");
  victim.raw().spec.scheduler_name = "second";
  EXPECT_TRUE(loops.PausedBetween(batch, victim, 1030));
  victim.raw().spec.scheduler_name = "third";
  EXPECT_FALSE(loops.PausedBetween(batch, victim, 1030));
}

TEST_F(PreemptionLoopsTest, CountingBeginsAnewAfterThePause) {
  Evict("b1", 900, 1000);
  Evict("b2", 1001, 1010);
  ASSERT_TRUE(Evict("b3", 1011, 1020));
  EXPECT_FALSE(Evict("b4", 1021, 1060)) << "by another scheduler, during the pause";
  EXPECT_FALSE(Evict("b5", 1061, 1071));
  EXPECT_FALSE(Evict("b6", 1072, 1081));
  EXPECT_TRUE(Evict("b7", 1082, 1091));
}

// Each update of a terminating pod reports its eviction.
TEST_F(PreemptionLoopsTest, AnEvictionBeforeTheEndOfAPauseThatIsReportedAfterItDoesNotCount) {
  Evict("b1", 900, 1000);
  Evict("b2", 1001, 1010);
  ASSERT_TRUE(Evict("b3", 1011, 1020));
  const auto report = [&](const std::string& name, std::int64_t started, std::int64_t at) {
    return loops.Add(OfJob("batch", name, started), PreemptionLoops::EvictorOf(urgent), at, kThreeInHundred,
                     1072);
  };
  EXPECT_FALSE(report("b3", 1011, 1020)) << "it has completed the loop";
  EXPECT_FALSE(report("b4", 1021, 1060)) << "during the pause";
  EXPECT_FALSE(Evict("b5", 1061, 1073));
  EXPECT_FALSE(Evict("b6", 1074, 1081));
  EXPECT_TRUE(Evict("b7", 1082, 1091));
}

TEST_F(PreemptionLoopsTest, TheNumberOfWorkloadsIsBounded) {
  Evict("b1", 900, 1000);
  Evict("b2", 1001, 1002);
  ASSERT_TRUE(Evict("b3", 1003, 1004));
  for (int i = 0; i < 3000; ++i) {
    Evict(OfJob("job" + std::to_string(i), "p" + std::to_string(i), 0), 1005, urgent);
    EXPECT_LE(loops.workloads(), PreemptionLoops::kMostWorkloads);
  }
  EXPECT_TRUE(loops.PausedUntil(OfJob("batch", "b4", 0), 1005)) << "paused workloads are forgotten last";
}

TEST_F(PreemptionLoopsTest, TheEvictorsOfALoopAreBounded) {
  const LoopLimit ten{.evictions = 10, .window = 100, .pause = 50};
  std::optional<PreemptionLoops::Loop> loop;
  for (int i = 0; i < 10; ++i) {
    const std::string text = std::to_string(i);
    loop = loops.Add(OfJob("batch", "b" + text, 1000 + i),
                     PreemptionLoops::EvictorOf(OfJob("urgent" + text, "u", 0)), 1000 + i, ten, 1000 + i);
  }
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->by.size(), PreemptionLoops::kMostEvictors);
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
  std::string Refusal(const api::Pod& pod) { return plugin->MayEvict(By(high), pod).Message(); }
  std::string RefusalTogether(const std::vector<api::PodPtr>& victims) {
    std::vector<const api::Pod*> all;
    for (const api::PodPtr& victim : victims) all.push_back(victim.get());
    return plugin->MayEvictTogether(By(high), all).Message();
  }
  void Evict(const std::vector<api::PodPtr>& victims) { plugin->OnEviction(By(high), victims); }
  static framework::Preemptor By(const api::PodPtr& pod) { return {"x/high", 10, pod}; }
  const std::vector<ports::Event>& Events() {
    return static_cast<const berth::testing::FakeEventSink&>(cluster.handle().events).events;
  }
  // A pod of a Job that starts now, and one that evicts it ten seconds later.
  void EvictPodOf(const std::string& job) {
    const api::PodPtr pod = OfJob(job, fmt::format("{}-{}", job, ++evicted), Ago({})).Share();
    cluster.loop().Pass(seconds(10));
    Evict({pod});
  }
  // A pod of a Job that started ten seconds ago and that another scheduler evicts now.
  void RunEvictedPodOf(const std::string& job, const std::string& name) {
    PodBuilder marked = OfJob(job, name, Ago({})).Deleting();
    cluster.loop().Pass(seconds(10));
    marked.raw().status.conditions.push_back(
        {.type = "DisruptionTarget",
         .status = "True",
         .reason = "PreemptionByScheduler",
         .message = "second: preempting to accommodate a higher priority pod",
         .last_transition_time = FormatTime(cluster.loop().WallNow())});
    cluster.Run("n", marked);
  }
  int evicted = 0;

  metrics::Registry registry;
  Cluster cluster;
  api::PodPtr high = OfJob("urgent", "high", 0).Priority(10).Share();
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

TEST_F(EvictionBudgetTest, AWorkloadInALoopIsPausedAndReportedOnce) {
  cluster.handle().metrics = &registry;
  Use("{loops: {evictions: 3, window: 10m, pause: 5m}}");
  const auto other_profile = std::move(plugin);
  Use("{loops: {evictions: 3, window: 10m, pause: 5m}}");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Refusal(OfJob("batch", "b", 0)), "");
    EXPECT_TRUE(Events().empty());
    const api::PodPtr pod = OfJob("batch", fmt::format("b{}", i), Ago({})).Share();
    cluster.loop().Pass(seconds(10));
    Evict({pod});
    other_profile->OnEviction(By(high), std::vector{pod});
  }
  ASSERT_EQ(Events().size(), 1U);
  EXPECT_EQ(Events()[0].reason, "PreemptionLoop");
  EXPECT_EQ(Events()[0].type, ports::Event::Type::kWarning);
  EXPECT_EQ(Events()[0].regarding, high);
  EXPECT_EQ(Events()[0].note,
            "Job a/batch was evicted 3 times within 10m0s by pods of Job a/urgent (default-scheduler); it is "
            "paused for 5m0s");
  EXPECT_EQ(Refusal(OfJob("batch", "b", 0)), "preemption loop: workload is not evicted for 5m0s");
  EXPECT_EQ(plugin->MayEvict(By(OfJob("batch", "b", 0).Share()), *high).Message(),
            "preemption loop: workload is not evicted for 5m0s by the workload that it evicted");
  EXPECT_EQ(Refusal(OfJob("other", "o", 0)), "");
  EXPECT_THAT(registry.Expose(), HasSubstr("berth_preemption_loops_total 1"));
  EXPECT_THAT(registry.Expose(), HasSubstr("berth_preemption_loop_paused_workloads{profile=\"\"} 1"));
  cluster.loop().Pass(std::chrono::minutes(5) + seconds(1));
  EXPECT_EQ(Refusal(OfJob("batch", "b", 0)), "");
  EXPECT_THAT(registry.Expose(), HasSubstr("berth_preemption_loop_paused_workloads{profile=\"\"} 0"));
}

TEST_F(EvictionBudgetTest, EvictionsByOtherSchedulersCompleteALoop) {
  Use("{loops: {evictions: 3}}");
  EvictPodOf("batch");
  EvictPodOf("batch");
  RunEvictedPodOf("batch", "marked");
  ASSERT_EQ(Events().size(), 1U);
  EXPECT_EQ(Events()[0].regarding->metadata.name, "marked") << "the preemptor is unknown";
  EXPECT_EQ(Events()[0].note,
            "Job a/batch was evicted 3 times within 10m0s by pods of Job a/urgent (default-scheduler), an "
            "unknown workload (second); it is paused for 5m0s");
}

TEST_F(EvictionBudgetTest, AReplicaReportsLoopsOnceItHasPlacedOrEvictedAPod) {
  cluster.handle().metrics = &registry;
  Use("{loops: {evictions: 2}}");
  for (const auto* name : {"b1", "b2"}) RunEvictedPodOf("batch", name);
  EXPECT_TRUE(Events().empty());
  EXPECT_THAT(registry.Expose(), HasSubstr("berth_preemption_loops_total 0"));
  EXPECT_THAT(registry.Expose(), HasSubstr("berth_preemption_loop_paused_workloads{profile=\"\"} 0"));
  EXPECT_NE(Refusal(OfJob("batch", "b", 1)), "") << "it knows the loop";
  cluster.Run("n", MakePod("placed"));
  for (const auto* name : {"c1", "c2"}) RunEvictedPodOf("other", name);
  EXPECT_EQ(Events().size(), 1U);
  EXPECT_THAT(registry.Expose(), HasSubstr("berth_preemption_loop_paused_workloads{profile=\"\"} 2"));
}

TEST_F(EvictionBudgetTest, AProfileThatAReloadAddsReportsLoopsAtOnceIfTheReplicaHasEvictedAPod) {
  const EvictionBudgetArgs args{
      .min_run_seconds = 0, .budgets = {}, .loops = PreemptionLoopsArgs{.evictions = 2}};
  plugin = std::make_unique<EvictionBudget>(args, "first", cluster.handle());
  Evict({Pod("p")});
  auto before = std::move(plugin);
  plugin = std::make_unique<EvictionBudget>(args, "second", cluster.handle());
  before.reset();
  // Neither an eviction by this replica nor a placement follows.
  for (const auto* name : {"b1", "b2"}) RunEvictedPodOf("batch", name);
  EXPECT_EQ(Events().size(), 1U);
}

TEST_F(EvictionBudgetTest, TheGaugeOfPausesEndsWithTheLastInstanceThatHasLoops) {
  const auto shows = HasSubstr("berth_preemption_loop_paused_workloads");
  cluster.handle().metrics = &registry;
  Use("{loops: {evictions: 2}}");
  auto before = std::move(plugin);
  Use("{loops: {evictions: 2}}");
  before.reset();
  EXPECT_THAT(registry.Expose(), shows);
  before = std::move(plugin);
  Use("");
  before.reset();
  EXPECT_THAT(registry.Expose(), ::testing::Not(shows));
}

TEST_F(EvictionBudgetTest, APodThatIsEvictedBeforeItsBindingIsConfirmedCountsInALoop) {
  Use("{minRunSeconds: 60, loops: {evictions: 2}}");
  const auto assumed = [](const std::string& name) {
    PodBuilder pod = OfJob("batch", name, 0);
    pod.raw().spec.node_name = "";
    return pod;
  };
  EXPECT_EQ(Refusal(assumed("b1")), "");
  Evict({assumed("b1").Share()});
  cluster.loop().Pass(seconds(2));
  Evict({assumed("b2").Share()});
  EXPECT_EQ(Refusal(assumed("b3")), "preemption loop: workload is not evicted for 5m0s");
}

TEST_F(EvictionBudgetTest, WithoutLoopsNothingIsCounted) {
  Use("{minRunSeconds: 1}");
  for (int i = 0; i < 10; ++i) EvictPodOf("batch");
  EXPECT_EQ(Refusal(OfJob("batch", "b", 1)), "");
  EXPECT_TRUE(Events().empty());
}

TEST_F(EvictionBudgetTest, AReloadKeepsAPauseWhileLoopsAreTheSame) {
  Use("{loops: {evictions: 2}}");
  EvictPodOf("batch");
  EvictPodOf("batch");
  auto before = std::move(plugin);
  Use("{loops: {evictions: 2}, minRunSeconds: 1}");
  EXPECT_NE(Refusal(OfJob("batch", "b", 1)), "");
  before = std::move(plugin);
  Use("{loops: {evictions: 3}}");
  EXPECT_EQ(Refusal(OfJob("batch", "b", 1)), "");
}

}  // namespace
}  // namespace berth::plugins
