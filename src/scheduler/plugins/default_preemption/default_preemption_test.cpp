#include "scheduler/plugins/default_preemption/default_preemption.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"
#include "scheduler/cluster/overlay.hpp"
#include "scheduler/cluster/withdrawal.hpp"
#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// --- arguments ---

struct ArgsCase {
  std::string name;
  std::string args;
  std::string error;  // empty: none
};
class PreemptionArgs : public ::testing::TestWithParam<ArgsCase> {};
TEST_P(PreemptionArgs, AreValidated) {
  Cluster cluster;
  const auto made = cluster.TryMake<DefaultPreemption>(GetParam().args);
  EXPECT_EQ(made ? "" : made.error().message, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, PreemptionArgs,
    ::testing::Values(
        ArgsCase{"Absent", "", ""},
        ArgsCase{"TheDefaults", "{minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100}", ""},
        ArgsCase{"OneOfThemMayBeZero", "{minCandidateNodesPercentage: 0}", ""},
        ArgsCase{
            "PercentageBelowZero", "{minCandidateNodesPercentage: -1}",
            "profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: -1: not in valid "
            "range [0, 100]"},
        ArgsCase{
            "AboveAHundredAndBelowZero", "{minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -2}",
            "[profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 101: not in valid "
            "range [0, 100], profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid value: -2: "
            "not in valid range [0, inf)]"},
        ArgsCase{
            "BothZero", "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            "[profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 0: cannot be zero "
            "at the same time as minCandidateNodesAbsolute, "
            "profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero "
            "at the same time as minCandidateNodesPercentage]"},
        ArgsCase{"UnknownField", "{minCandidates: 1}",
                 "strict decoding error: unknown field \"minCandidates\""}),
    [](const auto& row) { return row.param.name; });

struct WantedCase {
  std::size_t nodes, wanted;
};
class WantedCandidates : public ::testing::TestWithParam<WantedCase> {};
TEST_P(WantedCandidates, AreAPercentageBetweenAHundredAndAll) {
  EXPECT_EQ(DefaultPreemptionArgs{}.Wanted(GetParam().nodes), GetParam().wanted);
}
INSTANTIATE_TEST_SUITE_P(Table, WantedCandidates,
                         ::testing::Values(WantedCase{50, 50}, WantedCase{100, 100}, WantedCase{999, 100},
                                           WantedCase{3000, 300}, WantedCase{3009, 300}));

// --- importance ---

class ImportanceTest : public ::testing::Test {
 protected:
  ImportanceTest() { cluster.Add(MakeNode("n")); }
  void Run(const std::string& name, std::int32_t priority, std::int64_t start = 0,
           const std::string& ns = "default") {
    auto pod = MakePod(name).Namespace(ns).Priority(priority);
    pod.raw().status.start_time = start;
    cluster.Run("n", pod);
  }
  std::vector<std::string> Below(std::int32_t priority) {
    std::vector<std::string> names;
    for (const auto& entry : importance.Below(0, priority)) names.push_back(entry.pod->pod->metadata.Key());
    return names;
  }
  Cluster cluster;
  Importance importance{cluster.nodes()};
};

TEST_F(ImportanceTest, OrdersByPriorityThenStartTimeThenName) {
  Run("young", 5, 200);
  Run("not-started-b", 5);
  Run("high", 6, 300);
  Run("old", 5, 100);
  Run("low", -1, 1);
  Run("not-started-a", 5);
  EXPECT_THAT(Below(7), ElementsAre("default/high", "default/old", "default/young", "default/not-started-a",
                                    "default/not-started-b", "default/low"));
}

TEST_F(ImportanceTest, FollowsStartTimes) {
  Run("a", 0, 100);
  Run("b", 0);
  EXPECT_THAT(Below(1), ElementsAre("default/a", "default/b"));
  auto b = MakePod("b");
  b.raw().status.start_time = 50;
  cluster.nodes().ReplacePod(0, *importance.Below(0, 1).back().pod, b.Share());
  EXPECT_THAT(Below(1), ElementsAre("default/b", "default/a"));
}

TEST_F(ImportanceTest, NamesAreComparedAsNamespaceSlashName) {
  Run("x", 0, 1, "a");
  Run("x", 0, 1, "a-b");
  EXPECT_THAT(Below(1), ElementsAre("a-b/x", "a/x"));
}

TEST_F(ImportanceTest, PodsOfEqualPriorityAreExcluded) {
  Run("a", 5);
  EXPECT_THAT(Below(5), IsEmpty());
  EXPECT_FALSE(importance.AnyBelow(0, 5));
  EXPECT_TRUE(importance.AnyBelow(0, 6));
}

TEST_F(ImportanceTest, FollowsAddedAndRemovedPods) {
  Run("a", 3);
  Run("b", 1);
  EXPECT_THAT(Below(9), ElementsAre("default/a", "default/b"));
  cluster::PlacedPod& gone = *importance.Below(0, 2).front().pod;
  cluster.nodes().RemovePod(0, gone);
  EXPECT_THAT(Below(9), ElementsAre("default/a"));
  EXPECT_FALSE(importance.AnyBelow(0, 3)) << "the lowest priority is that of the remaining pods";
  Run("c", 7);
  EXPECT_THAT(Below(9), ElementsAre("default/c", "default/a"));
}

TEST_F(ImportanceTest, TheLowestPriorityIsMaintainedForUnlistedRows) {
  const auto leave = [&](const std::string& name) {
    for (cluster::PlacedPod* pod : cluster.nodes().pods(0)) {
      if (pod->pod->metadata.name == name) return cluster.nodes().RemovePod(0, *pod);
    }
    FAIL() << name;
  };
  Run("a", 3);
  Run("b", 1);
  Run("c", 5);
  leave("c");
  EXPECT_TRUE(importance.AnyBelow(0, 2));
  leave("b");
  Run("d", 4);
  EXPECT_FALSE(importance.AnyBelow(0, 3));
  EXPECT_THAT(Below(9), ElementsAre("default/d", "default/a"));
}

TEST_F(ImportanceTest, AnEmptyRowIsReset) {
  Run("a", 3);
  cluster.nodes().RemovePod(0, *cluster.nodes().pods(0).front());
  EXPECT_FALSE(importance.AnyBelow(0, 9));
  EXPECT_THAT(Below(9), IsEmpty());
  Run("b", 5);
  EXPECT_FALSE(importance.AnyBelow(0, 5));
  EXPECT_THAT(Below(9), ElementsAre("default/b"));
}

// A configuration that is loaded later finds the pods of the cluster.
TEST_F(ImportanceTest, PodsThatExistAtTheStartAreKnown) {
  Run("a", 3);
  Run("b", 1);
  Importance later(cluster.nodes());
  EXPECT_TRUE(later.AnyBelow(0, 2));
  EXPECT_FALSE(later.AnyBelow(0, 1));
  EXPECT_THAT(later.Below(0, 9), SizeIs(2));
}

TEST_F(ImportanceTest, PodsThatExistAtTheStartMayLeaveOrJoinBeforeTheFirstRequest) {
  Run("a", 3);
  Run("b", 1);
  Importance later(cluster.nodes());
  cluster.nodes().RemovePod(0, *cluster.nodes().pods(0).back());
  Run("c", 5);
  EXPECT_FALSE(later.AnyBelow(0, 3)) << "b has left";
  EXPECT_TRUE(later.AnyBelow(0, 4));
  EXPECT_THAT(later.Below(0, 9), SizeIs(2));
}

TEST_F(ImportanceTest, PodsOfOverlaysAreIgnored) {
  Run("a", 3);
  cluster::NodeTable::Overlay overlay(cluster.nodes());
  overlay.Remove(0, *importance.Below(0, 9).front().pod);
  EXPECT_THAT(Below(9), ElementsAre("default/a"));
}

TEST_F(ImportanceTest, APodThatWasWithdrawnIsListedAgain) {
  Run("a", 3);
  {
    cluster::NodeTable::Withdrawal withdrawal(cluster.nodes());
    withdrawal.Remove(0, *cluster.nodes().pods(0).front());
    Run("assumed", 8);
    cluster.nodes().RemovePod(0, *cluster.nodes().pods(0).front());
  }
  EXPECT_TRUE(importance.AnyBelow(0, 4));
  EXPECT_THAT(Below(9), ElementsAre("default/a"));
}

// --- budgets ---

class BudgetTest : public ImportanceTest {
 protected:
  void Budget(const std::string& name, std::int32_t allowed, api::LabelSelector selector,
              std::vector<std::string> disrupted = {}, const std::string& ns = "default") {
    api::PodDisruptionBudget budget;
    budget.metadata.name = name;
    budget.metadata.ns = ns;
    budget.selector = std::move(selector);
    budget.disruptions_allowed = allowed;
    budget.disrupted_pods = std::move(disrupted);
    cluster.Put(budget);
  }
  static api::LabelSelector App(const std::string& app) {
    api::LabelSelector selector;
    selector.match_labels.Set("app", app);
    return selector;
  }
  // Priorities decrease in the order of the calls.
  void RunApp(const std::string& name, const std::string& app) {
    cluster.Run("n", MakePod(name).Priority(--next_).Label("app", app));
  }
  std::vector<std::string> Violating() {
    const auto pods = importance.Below(0, INT32_MAX);
    std::vector<std::uint32_t> violating, harmless;
    budgets.Split(pods, violating, harmless);
    EXPECT_EQ(violating.size() + harmless.size(), pods.size());
    std::vector<std::string> names;
    for (const std::uint32_t i : violating) names.push_back(pods[i].pod->pod->metadata.name);
    return names;
  }
  std::int32_t next_ = 100;
  DisruptionBudgets budgets{cluster.objects()};
};

TEST_F(BudgetTest, AllowsDisruptionsUpToItsLimit) {
  for (const auto* name : {"1", "2", "3"}) RunApp(name, "a");
  Budget("b", 2, App("a"));
  EXPECT_THAT(Violating(), ElementsAre("3"));
  EXPECT_THAT(Violating(), ElementsAre("3")) << "each call starts with the full budget";
}

TEST_F(BudgetTest, AppliesToItsNamespaceOnly) {
  RunApp("1", "a");
  Budget("b", 0, App("a"), {}, "other");
  EXPECT_THAT(Violating(), IsEmpty());
}

TEST_F(BudgetTest, DoesNotCountDisruptedPodsAgain) {
  RunApp("1", "a");
  RunApp("2", "a");
  Budget("b", 0, App("a"), {"1"});
  EXPECT_THAT(Violating(), ElementsAre("2"));
}

TEST_F(BudgetTest, AnEmptyOrInvalidSelectorMatchesNoPod) {
  RunApp("1", "a");
  Budget("empty", 0, {});
  api::LabelSelector wrong = App("a");
  wrong.match_expressions.push_back({"app", "Like", {"a"}});
  Budget("wrong", 0, wrong);
  EXPECT_THAT(Violating(), IsEmpty());
}

TEST_F(BudgetTest, PodsWithoutLabelsNeverMatch) {
  Run("1", 0);
  api::LabelSelector selector;
  selector.match_expressions.push_back({"app", "DoesNotExist", {}});
  Budget("b", 0, selector);
  EXPECT_THAT(Violating(), IsEmpty());
}

TEST_F(BudgetTest, TheFirstViolationDoesNotDecrementLaterBudgets) {
  RunApp("1", "a");
  cluster.Run("n", MakePod("2").Priority(1).Label("app", "x").Label("tier", "y"));
  cluster.Run("n", MakePod("3").Priority(0).Label("tier", "y"));
  Budget("first", 0, App("x"));
  api::LabelSelector tier;
  tier.match_labels.Set("tier", "y");
  Budget("second", 1, tier);
  EXPECT_THAT(Violating(), ElementsAre("2")) << "the second still allows 3";
}

TEST_F(BudgetTest, ChangesTakeEffect) {
  RunApp("1", "a");
  Budget("b", 0, App("a"));
  EXPECT_THAT(Violating(), ElementsAre("1"));
  Budget("b", 1, App("a"));
  EXPECT_THAT(Violating(), IsEmpty());
  Budget("b", 0, App("other"));
  EXPECT_THAT(Violating(), IsEmpty()) << "another selector";
  Budget("b", 0, App("a"));
  EXPECT_THAT(Violating(), ElementsAre("1"));
  Budget("a", 0, App("a"), {"1"});
  EXPECT_THAT(Violating(), ElementsAre("1")) << "a budget before the other one";
  Budget("b", 1, App("a"));
  EXPECT_THAT(Violating(), IsEmpty()) << "the status of the second one";
  Budget("b", 0, {});
  EXPECT_THAT(Violating(), IsEmpty());
}

TEST_F(BudgetTest, OfEarlierObjectsCount) {
  RunApp("1", "a");
  Budget("b", 0, App("a"));
  DisruptionBudgets later{cluster.objects()};
  later.Begin();
  EXPECT_TRUE(later.Violates(*cluster.nodes().pods(0).front()));
}

// With selectors of all kinds, as if each pod were compared with each budget.
TEST_F(BudgetTest, AreTriedInTheOrderOfTheirNames) {
  Random random(7);
  std::map<std::string, std::pair<std::int32_t, api::LabelSelector>> all;
  const auto value = [&] { return std::string(1, static_cast<char>('a' + random.Below(3))); };
  for (int i = 0; i < 25; ++i) {
    cluster.Run("n", MakePod("p" + std::to_string(i))
                         .Priority(--next_)
                         .Label("app", value())
                         .Label(random.Below(2) == 0 ? "tier" : "zone", value()));
  }
  for (int round = 0; round < 200; ++round) {
    const std::string name = "b" + std::to_string(random.Below(6));
    api::LabelSelector selector;
    if (random.Below(2) == 0) selector.match_labels.Set("app", value());
    if (random.Below(3) == 0) selector.match_expressions.push_back({"tier", "Exists", {}});
    if (random.Below(3) == 0) selector.match_expressions.push_back({"zone", "NotIn", {value()}});
    if (random.Below(4) == 0) selector.match_expressions.push_back({"app", "In", {"a", value()}});
    const auto allowed = static_cast<std::int32_t>(random.Below(8));
    if (random.Below(3) == 0 && all.contains(name)) selector = all[name].second;  // only the status changes
    all[name] = {allowed, selector};
    Budget(name, allowed, selector);

    std::vector<std::string> expected;
    auto left = all;
    for (const Importance::Entry& entry : importance.Below(0, INT32_MAX)) {
      for (auto& [budget, state] : left) {
        auto& [more, matches] = state;
        const api::Pod& pod = *entry.pod->pod;
        if (matches.empty() || !api::ParseLabelSelector(&matches)->Matches(pod.metadata.labels)) continue;
        if (--more >= 0) continue;
        expected.push_back(pod.metadata.name);
        break;
      }
    }
    EXPECT_EQ(Violating(), expected) << round;
  }
}

// --- choice ---

struct ChoiceCase {
  std::string name;
  std::vector<Candidate> candidates;  // rows 0, 1, ...
  std::vector<std::size_t> best;
};
class Choice : public ::testing::TestWithParam<ChoiceCase> {};
TEST_P(Choice, AppliesTheCriteriaInOrder) {
  std::vector<Candidate> candidates = GetParam().candidates;
  for (std::size_t row = 0; row < candidates.size(); ++row)
    candidates[row].row = static_cast<cluster::Row>(row);
  std::vector<std::size_t> best;
  BestCandidates(candidates).ForEach([&](std::size_t row) { best.push_back(row); });
  EXPECT_EQ(best, GetParam().best);
}
Candidate Of(std::vector<std::pair<std::int32_t, std::int64_t>> victims, std::int64_t violations = 0) {
  Candidate candidate{.victims = {}, .violations = violations};
  for (const auto& [priority, started] : victims) candidate.victims.push_back({priority, started, nullptr});
  return candidate;
}
INSTANTIATE_TEST_SUITE_P(
    Table, Choice,
    ::testing::Values(
        ChoiceCase{"ABrokenBudgetCountsMoreThanAnyPriority", {Of({{1, 1}}, 1), Of({{99, 1}, {98, 1}})}, {1}},
        ChoiceCase{"TheHighestPriorityThenTheSum",
                   {Of({{10, 1}, {5, 1}}), Of({{8, 1}, {8, 1}, {8, 1}}), Of({{8, 1}, {7, 1}})},
                   {2}},
        ChoiceCase{"ManyNegativePrioritiesAreMoreThanFew", {Of({{-5, 1}, {-5, 1}}), Of({{-5, 1}})}, {1}},
        ChoiceCase{
            "FewerVictimsOfTheSameSum", {Of({{0, 1}, {0, 1}}), Of({{0, 1}, {INT32_MIN, 1}, {0, 1}})}, {0}},
        ChoiceCase{"TheYoungerTop", {Of({{5, 100}, {1, 900}}), Of({{5, 200}, {1, 1}})}, {1}},
        ChoiceCase{
            "OfSeveralOnTopTheEarliestStart", {Of({{5, 100}, {5, 900}}), Of({{5, 200}, {5, 300}})}, {1}},
        ChoiceCase{"WhatHasNotStartedIsYoungest", {Of({{5, 100}}), Of({{5, INT64_MAX}})}, {1}},
        ChoiceCase{"Equals", {Of({{5, 1}}), Of({{6, 1}}), Of({{5, 1}})}, {0, 2}}),
    [](const auto& row) { return row.param.name; });

// Thousands of members of a group may be victims on hundreds of nodes.
TEST(Candidates, OfAGroupShareItsMembersAndCompareByThem) {
  Cluster world;
  world.Add(MakeNode("a")).Add(MakeNode("b"));
  world.Run("a", MakePod("x").Priority(5)).Run("b", MakePod("y").Priority(3));
  VictimUnit group;
  group.pods.push_back({0, world.nodes().pods(0)[0]});
  group.pods.push_back({1, world.nodes().pods(1)[0]});
  const Candidate on_a{.row = 0, .victims = {}, .units = {group}};
  const Candidate on_b{.row = 1, .victims = {}, .units = {group}};
  EXPECT_EQ(on_a.units[0].pods.data(), on_b.units[0].pods.data());

  std::vector<Importance::Entry> buffer;
  const auto victims = VictimsOf(on_a, buffer);
  ASSERT_THAT(victims, SizeIs(2));
  EXPECT_EQ(victims[0].priority, 5);
  EXPECT_EQ(victims[1].pod, world.nodes().pods(1)[0]);
  const Candidate pods{.row = 2, .victims = {victims.begin(), victims.end()}};
  EXPECT_EQ(VictimsOf(pods, buffer).data(), pods.victims.data());
  const Candidate worse{.row = 3, .victims = {{6, 1, nullptr}}};
  const RowSet best = BestCandidates({on_a, on_b, pods, worse});
  EXPECT_EQ(best.Count(), 3);
  EXPECT_FALSE(best.Has(3));
}

// --- gating ---

TEST(DefaultPreemptionEvents, ADeletionEndsGatingButReturnsSkip) {
  Cluster cluster;
  const auto plugin = cluster.Make<DefaultPreemption>();
  const auto events = plugin->EventsToRegister();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].event.resource, framework::EventResource::kAssignedPod);
  EXPECT_EQ(events[0].event.action, framework::kDelete);
  EXPECT_EQ(*events[0].hint(cluster.Prepare(MakePod()), {MakePod("gone").Share(), nullptr}),
            framework::Hint::kSkip);
  EXPECT_TRUE(plugin->PreEnqueue(cluster.Prepare(MakePod())).ok()) << "no preemption is in progress";
}

}  // namespace
}  // namespace berth::plugins
