#include "scheduler/plugins/capacity_scheduling/capacity_scheduling.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <sstream>

#include "base/random.hpp"
#include "scheduler/cluster/overlay.hpp"
#include "scheduler/cluster/withdrawal.hpp"
#include "scheduler/framework/eviction_protection.hpp"
#include "scheduler/framework/nominations.hpp"
#include "scheduler/plugins/capacity_scheduling/fake_quota_cluster.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_amounts.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_ledger.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_series.hpp"
#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using framework::Code;
using framework::EventResource;
using framework::Status;
using quota_testing::InNamespace;
using quota_testing::MakeQuota;
using quota_testing::QuotaList;
using quota_testing::QuotaTest;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// Protects the pods with this label, and fails on those with another one. Only so many pods may be evicted
// together.
class LabelProtection final : public framework::EvictionProtectionPlugin {
 public:
  std::string_view Name() const override { return "LabelProtection"; }
  Status MayEvict(const framework::Preemptor&, const api::Pod& victim) override {
    if (victim.metadata.labels.Find("broken") != nullptr) return Status::Error("broken");
    return victim.metadata.labels.Find("kept") != nullptr ? Status::Unschedulable("kept") : Status();
  }
  Status MayEvictTogether(const framework::Preemptor&, std::span<const api::Pod* const> victims) override {
    return victims.size() > most ? Status::Unschedulable("too many") : Status();
  }
  std::size_t most = 100;
};

constexpr const char* kOverMax = "Pod a/p is rejected in PreFilter because ElasticQuota a is more than Max";
constexpr const char* kOverTotal =
    "Pod a/p is rejected in PreFilter because total ElasticQuota used is more than min";

// --- amounts ---

struct QuotaRequestCase {
  std::string name;
  PodBuilder pod;
  QuotaAmounts request;
};
class QuotaRequest : public ::testing::TestWithParam<QuotaRequestCase> {};
TEST_P(QuotaRequest, IsWhatSchedulerPluginsCounts) {
  EXPECT_EQ(QuotaRequestOf(GetParam().pod), GetParam().request);
}
api::Container WithCpu(std::string_view cpu) {
  api::Container container;
  container.resources.requests["cpu"] = api::Quantity::Parse(cpu).value();
  return container;
}
api::Container WithScalars(const QuotaList& amounts) {
  api::Container container;
  container.resources.requests = quota_testing::ListOf(amounts);
  return container;
}
INSTANTIATE_TEST_SUITE_P(
    Table, QuotaRequest,
    ::testing::Values(
        QuotaRequestCase{"ContainersAreAdded",
                         MakePod().Container(WithCpu("1")).Container(WithCpu("500m")),
                         {.milli_cpu = 1500}},
        QuotaRequestCase{"TheLargestInitContainerCountsIfItNeedsMore",
                         MakePod().Container(WithCpu("1")).Init(WithCpu("2")).Init(WithCpu("3")),
                         {.milli_cpu = 3000}},
        QuotaRequestCase{
            "ASumAboveTheLargestNumberCountsAsALargeAmount",
            MakePod().Container(WithCpu("4611686018427387904m")).Container(WithCpu("4611686018427387904m")),
            {.milli_cpu = std::int64_t{1} << 50}},
        QuotaRequestCase{"ASidecarCountsAsAnInitContainer",
                         MakePod().Container(WithCpu("2")).Sidecar(WithCpu("1")),
                         {.milli_cpu = 2000}},
        QuotaRequestCase{
            "TheOverheadIsAdded", MakePod().Cpu("1").Overhead("cpu", "100m"), {.milli_cpu = 1100}},
        QuotaRequestCase{
            "PodLevelRequestsDoNotCount", MakePod().Cpu("1").PodLevel("cpu", "4"), {.milli_cpu = 1000}},
        QuotaRequestCase{"ScalarsAreListedEvenIfZero",
                         MakePod().Request("example.com/gpu", "0"),
                         {.scalars = {{"example.com/gpu", 0}}}},
        QuotaRequestCase{
            "ScalarsOfContainersAreAddedByName",
            MakePod()
                .Container(WithScalars({{"example.com/b", "1"}, {"example.com/d", "2"}}))
                .Container(WithScalars({{"example.com/a", "3"}, {"example.com/d", "4"}}))
                .Init(WithScalars({{"example.com/b", "5"}, {"example.com/c", "6"}})),
            {.scalars =
                 {{"example.com/a", 3}, {"example.com/b", 5}, {"example.com/c", 6}, {"example.com/d", 6}}}},
        QuotaRequestCase{"OtherResourcesAreIgnored", MakePod().Request("storage", "1Gi"), {}}),
    [](const auto& row) { return row.param.name; });

TEST(QuotaAmountsTest, ScalarsAreAddedAndSubtractedByName) {
  Random random(3);
  const auto some = [&] {
    std::map<std::string, std::int64_t> amounts;
    for (std::size_t i = random.Below(6); i > 0; --i)
      amounts["example.com/" + std::to_string(random.Below(9))] = static_cast<std::int64_t>(random.Below(3));
    return amounts;
  };
  const auto as_quota = [](const std::map<std::string, std::int64_t>& amounts) {
    QuotaAmounts quota;
    quota.scalars.assign(amounts.begin(), amounts.end());
    return quota;
  };
  std::map<std::string, std::int64_t> expected;
  QuotaAmounts sum;
  for (int step = 0; step < 500; ++step) {
    const auto more = some();
    if (random.Below(2) == 0) {
      sum += as_quota(more);
      for (const auto& [name, amount] : more) expected[name] += amount;
    } else {
      sum -= as_quota(more);
      for (const auto& [name, amount] : more) expected[name] -= amount;
      std::erase_if(expected, [](const auto& entry) { return entry.second == 0; });
    }
    ASSERT_EQ(sum, as_quota(expected)) << step;
  }
}

// --- PreFilter ---

struct QuotaLimitCase {
  std::string name;
  std::optional<QuotaList> min, max;
  PodBuilder used, pod;
  std::string rejection;  // empty: none
};
class QuotaLimits : public QuotaTest, public ::testing::WithParamInterface<QuotaLimitCase> {};
TEST_P(QuotaLimits, AreCompared) {
  cluster.Add(MakeNode("n").Cpu("100"));
  // Another quota with enough of everything that is not the subject.
  cluster.Put(
      MakeQuota("other", QuotaList{{"cpu", "50"}, {"memory", "100Gi"}, {"example.com/gpu", "10"}}, {}));
  cluster.Put(MakeQuota("a", GetParam().min, GetParam().max));
  Run("n", PodBuilder(GetParam().used).Namespace("a"));
  EXPECT_EQ(Rejection(PodBuilder(GetParam().pod).Namespace("a")), GetParam().rejection);
}
const QuotaList kMuch = {{"cpu", "50"}, {"memory", "100Gi"}, {"example.com/gpu", "10"}};
INSTANTIATE_TEST_SUITE_P(
    Table, QuotaLimits,
    ::testing::Values(QuotaLimitCase{"UpToTheMaximumAPodPasses", kMuch, QuotaList{{"cpu", "3"}},
                                     MakePod("u").Cpu("1"), MakePod("p").Cpu("2"), ""},
                      QuotaLimitCase{"BeyondTheMaximumItIsRejected", kMuch, QuotaList{{"cpu", "3"}},
                                     MakePod("u").Cpu("1"), MakePod("p").Cpu("2001m"), kOverMax},
                      QuotaLimitCase{"AMaximumWithoutMemoryAllowsNoMemory", kMuch, QuotaList{{"cpu", "3"}},
                                     MakePod("u").Cpu("1"), MakePod("p").Cpu("1").Memory("1"), kOverMax},
                      QuotaLimitCase{"AMaximumWithoutAScalarDoesNotLimitIt", kMuch, QuotaList{{"cpu", "3"}},
                                     MakePod("u").Cpu("1"), MakePod("p").Request("example.com/gpu", "4"), ""},
                      QuotaLimitCase{"WithoutMaximumNothingIsLimited",
                                     kMuch,
                                     {},
                                     MakePod("u").Cpu("1"),
                                     MakePod("p").Cpu("40").Memory("90Gi"),
                                     ""},
                      QuotaLimitCase{"AnEmptyMaximumAllowsNothing", kMuch, QuotaList{}, MakePod("u"),
                                     MakePod("p").Cpu("1m"), kOverMax},
                      QuotaLimitCase{"AScalarBeyondItsMaximumIsRejected", kMuch,
                                     QuotaList{{"cpu", "9"}, {"example.com/gpu", "2"}},
                                     MakePod("u").Request("example.com/gpu", "1"),
                                     MakePod("p").Request("example.com/gpu", "2"), kOverMax},
                      QuotaLimitCase{"AScalarThatThePodDoesNotRequestIsNotCompared", kMuch,
                                     QuotaList{{"cpu", "9"}, {"example.com/gpu", "1"}},
                                     MakePod("u").Request("example.com/gpu", "5"), MakePod("p").Cpu("1"), ""},
                      QuotaLimitCase{"CpuIsComparedEvenIfThePodRequestsNone", kMuch, QuotaList{{"cpu", "1"}},
                                     MakePod("u").Cpu("2"), MakePod("p"), kOverMax},
                      QuotaLimitCase{"BeyondItsMinimumANamespaceUsesWhatOthersLeaveIdle",
                                     QuotaList{{"cpu", "1"}},
                                     {},
                                     MakePod("u").Cpu("1"),
                                     MakePod("p").Cpu("50"),
                                     ""},
                      QuotaLimitCase{"TheSumOfAllMinimumsLimitsBorrowing",
                                     QuotaList{{"cpu", "1"}},
                                     {},
                                     MakePod("u").Cpu("1"),
                                     MakePod("p").Cpu("50001m"),
                                     kOverTotal},
                      QuotaLimitCase{"AScalarInNoMinimumCannotBeUsed",
                                     QuotaList{{"cpu", "9"}},
                                     {},
                                     MakePod("u").Cpu("1"),
                                     MakePod("p").Request("example.com/other", "1"),
                                     kOverTotal}),
    [](const auto& row) { return row.param.name; });

TEST_F(QuotaTest, PodsWithoutAQuotaAreSkipped) {
  cluster.Add(MakeNode("n"));
  Quota("a", "1", "1");
  EXPECT_EQ(PreFilter(InNamespace("b", "p", "100")).code, Code::kSkip);
  EXPECT_EQ(PreFilter(InNamespace("a", "p", "2")).code, Code::kUnschedulable);
}

TEST_F(QuotaTest, UseWithoutAQuotaDoesNotCountInTheSum) {
  cluster.Add(MakeNode("n"));
  Quota("a", "2", "2");
  Run("n", InNamespace("b", "u", "100"));
  EXPECT_EQ(Rejection(InNamespace("a", "p", "2")), "");
}

TEST_F(QuotaTest, PodsOnNodesBeforeTheQuotaCount) {
  cluster.Add(MakeNode("n"));
  Run("n", InNamespace("a", "u", "2"));
  plugin();
  Quota("a", "2", "2");
  EXPECT_EQ(Rejection(InNamespace("a", "p", "1")), kOverMax);
}

TEST_F(QuotaTest, AChangedOrDeletedQuotaTakesEffectAtOnce) {
  cluster.Add(MakeNode("n"));
  Quota("a", "2", "2");
  Run("n", InNamespace("a", "u", "2"));
  EXPECT_EQ(Rejection(InNamespace("a", "p", "1")), kOverMax);
  Quota("a", "2", "3");
  EXPECT_EQ(Rejection(InNamespace("a", "p", "1")), kOverTotal);
  Quota("a", "3", "3");
  EXPECT_EQ(Rejection(InNamespace("a", "p", "1")), "");
  cluster.objects().Apply(ports::Change<api::ElasticQuota>{
      cluster.objects().Of<api::ElasticQuota>().Find("a", "quota"), nullptr});
  EXPECT_EQ(PreFilter(InNamespace("a", "p", "9")).code, Code::kSkip);
}

TEST_F(QuotaTest, TheFirstQuotaOfANamespaceByNameCounts) {
  cluster.Add(MakeNode("n"));
  cluster.Put(MakeQuota("a", QuotaList{{"cpu", "5"}}, QuotaList{{"cpu", "5"}}, "y"));
  cluster.Put(MakeQuota("a", QuotaList{{"cpu", "1"}}, QuotaList{{"cpu", "1"}}, "x"));
  EXPECT_EQ(Rejection(InNamespace("a", "p", "2")), kOverMax);
}

TEST_F(QuotaTest, PodsThatLeaveTheirNodeNoLongerCount) {
  cluster.Add(MakeNode("n"));
  Quota("a", "2", "2");
  Run("n", InNamespace("a", "u", "2"));
  EXPECT_EQ(Rejection(InNamespace("a", "p", "1")), kOverMax);
  cluster.nodes().RemovePod(0, *cluster.nodes().pods(0).front());
  EXPECT_EQ(Rejection(InNamespace("a", "p", "2")), "");
}

TEST_F(QuotaTest, OverlaysDoNotChangeWhatIsUsed) {
  cluster.Add(MakeNode("n"));
  Quota("a", "2", "2");
  Run("n", InNamespace("a", "u", "2"));
  plugin();
  cluster::NodeTable::Overlay overlay(cluster.nodes());
  overlay.Remove(0, *cluster.nodes().pods(0).front());
  EXPECT_EQ(Rejection(InNamespace("a", "p", "1")), kOverMax);
}

TEST_F(QuotaTest, AQuotaWithTooManyResourcesRejectsItsPodsWithTheField) {
  cluster.Add(MakeNode("n"));
  QuotaList many;
  for (int i = 0; i < 65; ++i) many.emplace_back("example.com/r" + std::to_string(i), "1");
  cluster.Put(MakeQuota("a", {}, many));
  const Status status = PreFilter(InNamespace("a", "p", "1"));
  EXPECT_EQ(status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(status.Message(), "ElasticQuota a/quota: spec.max: 65 resources: must have at most 64");
}

struct QuotaNominationCase {
  std::string name;
  PodBuilder nominated;
  std::string node;
  std::string rejection;
};
class QuotaNominations : public QuotaTest, public ::testing::WithParamInterface<QuotaNominationCase> {};
TEST_P(QuotaNominations, CountAsInSchedulerPlugins) {
  cluster.Add(MakeNode("n"));
  Quota("a", "4", "5");
  Quota("b", "2", "9");
  Run("n", InNamespace("a", "u", "3"));
  Nominate(GetParam().node, GetParam().nominated);
  EXPECT_EQ(Rejection(InNamespace("a", "p", "2", 5)), GetParam().rejection);
}
INSTANTIATE_TEST_SUITE_P(
    Table, QuotaNominations,
    ::testing::Values(QuotaNominationCase{"OfTheSameNamespaceIfNotLessImportant",
                                          InNamespace("a", "q", "1", 5), "n", kOverMax},
                      QuotaNominationCase{"NotIfLessImportant", InNamespace("a", "q", "1", 4), "n", ""},
                      QuotaNominationCase{"NotThePodItself", InNamespace("a", "p", "1", 5), "n", ""},
                      QuotaNominationCase{"NotOnAMissingNode", InNamespace("a", "q", "1", 5), "gone", ""},
                      QuotaNominationCase{"OfAnotherNamespaceInTheSum", InNamespace("b", "q", "2", 0), "n",
                                          kOverTotal},
                      QuotaNominationCase{"NotWithoutAQuota", InNamespace("c", "q", "2", 9), "n", ""}),
    [](const auto& row) { return row.param.name; });

TEST_F(QuotaTest, NominationsOfANamespaceBeyondItsMinimumDoNotCount) {
  cluster.Add(MakeNode("n"));
  Quota("a", "4", "5");
  Quota("b", "2", "9");
  Run("n", InNamespace("b", "u", "3"));
  Nominate("n", InNamespace("b", "q", "2", 9));
  EXPECT_EQ(Rejection(InNamespace("a", "p", "3")), "");
}

TEST_F(QuotaTest, ARejectionIsExplainedByWhatIsUsedAndWhoBorrows) {
  cluster.Add(MakeNode("n"));
  Quota("a", "4", "4");
  Quota("b", "2", "9");
  Run("n", InNamespace("a", "u", "1500m"));
  Run("n", InNamespace("b", "v", "4"));
  Rejection(InNamespace("a", "p", "3"));
  EXPECT_THAT(Details(),
              ElementsAre("namespace a has used 1500m of 4 cpu (maximum of ElasticQuota quota); the "
                          "pod requests 3"));
  Rejection(InNamespace("a", "p", "2"));
  EXPECT_THAT(Details(),
              ElementsAre("namespaces with a quota use 5500m of 6 cpu (sum of all minimums), a 1500m "
                          "of its minimum of 4; the pod requests 2; beyond their minimum: b 2"));
}

// --- preemption ---

class QuotaPreemptionTest : public QuotaTest {
 protected:
  QuotaPreemptionTest() {
    cluster.Add(MakeNode("n").Cpu("8"));
    Quota("a", "4", "8");
    Quota("b", "4", "8");
  }
};

TEST_F(QuotaPreemptionTest, WithinItsMinimumANamespaceReclaimsFromBorrowersOfAnyPriority) {
  Run("n", InNamespace("b", "b1", "4", 101));
  Run("n", InNamespace("b", "b2", "2", 100));
  Run("n", InNamespace("b", "b3", "2", 99));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "2", 0)), "n: b/b3");
}

TEST_F(QuotaPreemptionTest, BorrowersLoseNoMoreThanTheyBorrow) {
  Run("n", InNamespace("b", "b1", "4", 3));
  Run("n", InNamespace("b", "b2", "1", 2));
  Run("n", InNamespace("a", "a1", "3", 1));
  // After b2 nothing is borrowed any more, so that b1 stays and 2 cores are not free.
  EXPECT_EQ(Preempt(InNamespace("a", "p", "1")), "n: b/b2");
}

TEST_F(QuotaPreemptionTest, WhatIsWithinAMinimumIsNotReclaimed) {
  Run("n", InNamespace("b", "b1", "4", 3));
  Run("n", InNamespace("b", "b2", "1", 2));
  Run("n", InNamespace("a", "a1", "1", 1));
  Run("n", InNamespace("c", "c1", "2", 1));
  // The end of b1 would make room for the pod, but without b2 its namespace is within its minimum.
  EXPECT_EQ(Preempt(InNamespace("a", "p", "3")), "0/1 nodes are available: 1 Insufficient cpu.");
}

TEST_F(QuotaPreemptionTest, BeyondItsMinimumANamespaceEvictsItsOwnLessImportantPods) {
  Run("n", InNamespace("a", "a1", "4", 1));
  Run("n", InNamespace("a", "a2", "2", 3));
  Run("n", InNamespace("b", "b1", "2", 0));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "2", 2)), "n: a/a1");
}

TEST_F(QuotaPreemptionTest, PodsWithoutAQuotaEvictOnlyPodsWithoutAQuota) {
  Run("n", InNamespace("a", "a1", "4", 0));
  Run("n", InNamespace("c", "c1", "2", 0));
  Run("n", InNamespace("c", "c2", "2", 9));
  EXPECT_EQ(Preempt(InNamespace("d", "p", "2", 5)), "n: c/c1");
  EXPECT_EQ(Preempt(InNamespace("d", "p", "4", 5)), "0/1 nodes are available: 1 Insufficient cpu.");
}

TEST_F(QuotaPreemptionTest, AQuotaThatIsExceededWithoutThePossibleVictimsKeepsThemAlive) {
  Run("n", InNamespace("a", "a1", "5", 9));
  Run("n", InNamespace("a", "a2", "1", 1));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "4", 5)), "0/1 nodes are available: 1 Insufficient cpu.");
  cluster.Add(MakeNode("m").Cpu("8"));
  Run("m", InNamespace("a", "a3", "1", 2));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "4", 5)),
            "0/2 nodes are available: 1 Insufficient cpu, 1 global quota max exceeded.");
}

TEST_F(QuotaPreemptionTest, VictimsThatFitAreEvictedIfTheQuotaIsExceeded) {
  cluster.Add(MakeNode("m").Cpu("80"));
  Run("m", InNamespace("a", "a1", "4", 1));
  Run("m", InNamespace("a", "a2", "4", 2));
  // Enough CPU is free on the node: only the maximum of the quota needs room.
  EXPECT_EQ(Preempt(InNamespace("a", "p", "4", 5)), "m: a/a1");
}

TEST_F(QuotaPreemptionTest, ProtectedPodsStay) {
  LabelProtection protection;
  protections = {&protection};
  Run("n", InNamespace("a", "kept", "3", 1).Label("kept", ""));
  Run("n", InNamespace("a", "other", "3", 1));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "3", 2)), "n: a/other");
  EXPECT_EQ(
      Preempt(InNamespace("a", "p", "6", 2)),
      "0/1 nodes are available: 1 Insufficient cpu, 1 node(s) had pods that must not be evicted (kept).");
}

TEST_F(QuotaPreemptionTest, OnlyProtectedPodsAreTheReasonForNoVictims) {
  LabelProtection protection;
  protections = {&protection};
  Run("n", InNamespace("a", "kept", "6", 1).Label("kept", ""));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "3", 2)),
            "0/1 nodes are available: 1 node(s) had pods that must not be evicted (kept).");
}

TEST_F(QuotaPreemptionTest, VictimsThatMustNotBeEvictedTogetherAreNoCandidate) {
  LabelProtection protection;
  protection.most = 1;
  protections = {&protection};
  for (const char* name : {"a1", "a2"}) Run("n", InNamespace("a", name, "3", 1));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "4", 2)), "n: a/a2");
  EXPECT_EQ(Preempt(InNamespace("a", "p", "6", 2)),
            "0/1 nodes are available: 1 node(s) had victims that must not be evicted together (too many).");
}

TEST_F(QuotaPreemptionTest, AFailedProtectionFailsTheNode) {
  LabelProtection protection;
  protections = {&protection};
  Run("n", InNamespace("a", "broken", "6", 1).Label("broken", ""));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "3", 2)), "broken");
}

TEST_F(QuotaPreemptionTest, ATerminatingVictimOnTheNominatedNodePreventsFurtherEvictions) {
  Run("n", InNamespace("a", "a1", "4", 1).Deleting());
  Run("n", InNamespace("a", "a2", "2", 1));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "2", 2).Nominated("n")),
            "not eligible due to a terminating pod on the nominated node.");
  EXPECT_EQ(Preempt(InNamespace("a", "p", "2", 1).Nominated("n")),
            "0/1 nodes are available: 1 No victims found for preemptor pod p.");
}

TEST_F(QuotaPreemptionTest, WithinItsMinimumANamespaceWaitsForItsOwnTerminatingPodsToo) {
  Run("n", InNamespace("a", "a1", "1", 1).Deleting());
  Run("n", InNamespace("b", "b1", "7", 0));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "2", 2).Nominated("n")),
            "not eligible due to a terminating pod on the nominated node.");
  EXPECT_EQ(Preempt(InNamespace("a", "p", "2", 1).Nominated("n")), "n: b/b1");
}

TEST_F(QuotaPreemptionTest, AViolatedBudgetIsAvoided) {
  Quota("b", "8", "8");
  cluster.Add(MakeNode("m").Cpu("2"));
  api::PodDisruptionBudget budget;
  budget.metadata.name = "keep";
  budget.metadata.ns = "a";
  budget.selector.emplace();
  budget.selector->match_labels.Set("app", "kept");
  cluster.Put(budget);
  Run("n", InNamespace("a", "a1", "6", 1).Label("app", "kept"));
  Run("n", InNamespace("b", "b1", "2", 1));
  Run("m", InNamespace("a", "a2", "2", 4));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "2", 5)), "m: a/a2");
}

TEST_F(QuotaPreemptionTest, APodThatNeverPreemptsEvictsNothing) {
  Run("n", InNamespace("b", "b1", "8", 0));
  PodBuilder pod = InNamespace("a", "p", "2", 5);
  pod.raw().spec.never_preempts = true;
  EXPECT_EQ(Preempt(pod), "not eligible due to preemptionPolicy=Never.");
}

TEST_F(QuotaPreemptionTest, NominatedPodsThatExceedTheQuotaMakeTheNodeFail) {
  Run("n", InNamespace("a", "a1", "7", 1));
  Nominate("n", InNamespace("a", "q", "2", 9));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "7", 5)), "no corresponding pod a1 in pods of node n");
}

TEST_F(QuotaTest, RegistersForQuotasAndDeletedPods) {
  cluster.Add(MakeNode("n"));
  const auto events = plugin().EventsToRegister();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].event.resource, EventResource::kAssignedPod);
  EXPECT_EQ(events[0].event.action, framework::kDelete);
  EXPECT_EQ(events[1].event.resource, EventResource::kElasticQuota);
  EXPECT_THAT(cluster.handle().requested_resources, ElementsAre("elasticquotas.scheduling.x-k8s.io"));
}

class QuotaHintTest : public QuotaTest {
 protected:
  template <class T>
  framework::Hint HintOf(EventResource resource, const T* before, const T* after) {
    const auto shared = [](const T* object) {
      return object == nullptr ? nullptr : std::make_shared<const T>(*object);
    };
    const cluster::PodInfo waiting = cluster.Prepare(InNamespace("a", "p", "1"));
    for (const auto& registration : plugin().EventsToRegister()) {
      if (registration.event.resource == resource)
        return registration.hint(waiting, {shared(before), shared(after)}).value();
    }
    ADD_FAILURE() << "not registered";
    return framework::Hint::kSkip;
  }
};

TEST_F(QuotaHintTest, AChangedLimitRetriesPods) {
  const api::ElasticQuota quota = MakeQuota("a", QuotaList{{"cpu", "1"}}, QuotaList{{"cpu", "2"}});
  const auto hint = [&](const api::ElasticQuota* before, const api::ElasticQuota* after) {
    return HintOf(EventResource::kElasticQuota, before, after);
  };
  EXPECT_EQ(hint(nullptr, &quota), framework::Hint::kQueue);
  EXPECT_EQ(hint(&quota, nullptr), framework::Hint::kQueue);
  const api::ElasticQuota more = MakeQuota("a", QuotaList{{"cpu", "1"}}, QuotaList{{"cpu", "3"}});
  EXPECT_EQ(hint(&quota, &more), framework::Hint::kQueue);
  const api::ElasticQuota higher_min = MakeQuota("a", QuotaList{{"cpu", "2"}}, QuotaList{{"cpu", "2"}});
  EXPECT_EQ(hint(&quota, &higher_min), framework::Hint::kQueue);
}

TEST_F(QuotaHintTest, AWrittenStatusRetriesNoPod) {
  const api::ElasticQuota quota = MakeQuota("a", QuotaList{{"cpu", "1"}}, QuotaList{{"cpu", "2"}});
  api::ElasticQuota written = quota;
  written.metadata.resource_version = "2";
  EXPECT_EQ(HintOf(EventResource::kElasticQuota, &quota, &written), framework::Hint::kSkip);
}

TEST_F(QuotaHintTest, ADeletedPodRetriesPodsIfItsNamespaceHasAQuota) {
  Quota("b", "1", "2");
  const api::Pod counted = InNamespace("b", "q", "1"), other = InNamespace("c", "q", "1");
  EXPECT_EQ(HintOf<api::Pod>(EventResource::kAssignedPod, &counted, nullptr), framework::Hint::kQueue);
  EXPECT_EQ(HintOf<api::Pod>(EventResource::kAssignedPod, &other, nullptr), framework::Hint::kSkip);
}

// --- metrics ---

class QuotaMetricsTest : public QuotaTest {
 protected:
  QuotaMetricsTest() {
    cluster.handle().metrics = &registry;
    cluster.Add(MakeNode("n").Cpu("100"));
  }
  void RemoveQuota(const std::string& ns) {
    const auto known = cluster.objects().Of<api::ElasticQuota>().Find(ns, "quota");
    cluster.objects().Apply(ports::Change<api::ElasticQuota>{known, nullptr});
  }
  static constexpr const char* kUnserved = "unserved_attempts_total{namespace=\"a\"} 0";
  // The samples of berth_quota_*.
  std::vector<std::string> Samples() const {
    std::vector<std::string> samples;
    std::istringstream lines(registry.Expose());
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("berth_quota_")) samples.push_back(line.substr(sizeof("berth_quota_") - 1));
    }
    return samples;
  }
};

TEST_F(QuotaMetricsTest, ShowAmountsInBaseUnits) {
  cluster.Put(MakeQuota("a", QuotaList{{"cpu", "1500m"}, {"memory", "1Gi"}}, QuotaList{{"cpu", "4"}}));
  Run("n", InNamespace("a", "a1", "2500m").Memory("1Ki"));
  plugin();
  EXPECT_THAT(
      Samples(),
      ElementsAre("max{namespace=\"a\",resource=\"cpu\"} 4",  // without memory: none
                  "max{namespace=\"a\",resource=\"memory\"} 0", "min{namespace=\"a\",resource=\"cpu\"} 1.5",
                  "min{namespace=\"a\",resource=\"memory\"} 1.073741824e+09",
                  "reclaimed_pods_total{namespace=\"a\"} 0", kUnserved,
                  "used{namespace=\"a\",resource=\"cpu\"} 2.5",
                  "used{namespace=\"a\",resource=\"memory\"} 1024"));
}

TEST_F(QuotaMetricsTest, FollowPodsAndQuotas) {
  Quota("a", "1", "4");
  plugin();
  Run("n", InNamespace("a", "a1", "2"));
  EXPECT_THAT(Samples(), Contains("used{namespace=\"a\",resource=\"cpu\"} 2"));
  Quota("a", "3", "5");
  EXPECT_THAT(Samples(), ElementsAre("max{namespace=\"a\",resource=\"cpu\"} 5",
                                     "min{namespace=\"a\",resource=\"cpu\"} 3",
                                     "reclaimed_pods_total{namespace=\"a\"} 0", kUnserved,
                                     "used{namespace=\"a\",resource=\"cpu\"} 2"));
  // Without a maximum, and with another resource.
  cluster.Put(MakeQuota("a", QuotaList{{"memory", "1"}}, std::nullopt));
  EXPECT_THAT(Samples(), ElementsAre("min{namespace=\"a\",resource=\"memory\"} 1",
                                     "reclaimed_pods_total{namespace=\"a\"} 0", kUnserved,
                                     "used{namespace=\"a\",resource=\"memory\"} 0"));
  RemoveQuota("a");
  EXPECT_THAT(Samples(), IsEmpty());
}

TEST_F(QuotaMetricsTest, AreSharedByAllProfiles) {
  Quota("a", "1", "4");
  auto first = cluster.Make<CapacityScheduling>();
  auto second = cluster.Make<CapacityScheduling>();
  first.reset();
  Run("n", InNamespace("a", "a1", "2"));
  EXPECT_THAT(Samples(), Contains("used{namespace=\"a\",resource=\"cpu\"} 2"));
  second.reset();
  EXPECT_THAT(Samples(), IsEmpty());
}

TEST_F(QuotaMetricsTest, FurtherNamespacesHaveSeriesWhenThereIsRoom) {
  plugin();
  const auto name = [](std::size_t number) { return fmt::format("ns{}", number); };
  for (std::size_t i = 0; i <= QuotaSeries::kMostNamespaces; ++i) Quota(name(i), "1", "1");
  EXPECT_EQ(Samples().size(), 5 * QuotaSeries::kMostNamespaces);
  const std::string further =
      fmt::format("used{{namespace=\"ns{}\",resource=\"cpu\"}} 0", QuotaSeries::kMostNamespaces);
  EXPECT_THAT(Samples(), Not(Contains(further)));
  RemoveQuota("ns7");
  Quota(name(QuotaSeries::kMostNamespaces), "1", "1");
  EXPECT_THAT(Samples(), Contains(further));
  EXPECT_EQ(Samples().size(), 5 * QuotaSeries::kMostNamespaces);
}

TEST_F(QuotaMetricsTest, TheFirstResourcesHaveSeries) {
  QuotaList many = {{"cpu", "1"}, {"pods", "5"}};
  for (int i = 0; i < 30; ++i) many.emplace_back(fmt::format("example.com/r{:02}", i), "1");
  cluster.Put(MakeQuota("a", many, std::nullopt));
  plugin();
  const std::vector<std::string> samples = Samples();
  EXPECT_EQ(samples.size(), 2 * QuotaSeries::kMostResources + 2);
  EXPECT_THAT(samples, Contains("min{namespace=\"a\",resource=\"cpu\"} 1"));
  EXPECT_THAT(samples, Contains("min{namespace=\"a\",resource=\"example.com/r14\"} 1"));
}

TEST_F(QuotaMetricsTest, CountPodsThatAnotherNamespaceReclaims) {
  cluster.Add(MakeNode("full").Cpu("8"));
  Quota("a", "6", "8");
  Quota("b", "2", "8");
  Run("full", InNamespace("b", "b1", "4"));
  Run("full", InNamespace("b", "b2", "4"));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "4")), "full: b/b2");
  EXPECT_THAT(Samples(), Contains("reclaimed_pods_total{namespace=\"b\"} 1"));
}

TEST_F(QuotaMetricsTest, DoNotCountPodsOfTheSameNamespace) {
  Quota("a", "2", "100");
  Quota("b", "98", "100");
  Run("n", InNamespace("a", "a1", "90", 0));
  EXPECT_EQ(Preempt(InNamespace("a", "p", "80", 5)), "n: a/a1");
  EXPECT_THAT(Samples(), Contains("reclaimed_pods_total{namespace=\"a\"} 0"));
}

TEST_F(QuotaMetricsTest, CountFailedAttemptsWithinTheMinimum) {
  cluster.Add(MakeNode("full").Cpu("8"));
  Quota("a", "6", "8");
  Quota("b", "8", "8");
  Run("full", InNamespace("b", "b1", "8", 5));
  Preempt(InNamespace("a", "p", "4", 5));
  EXPECT_THAT(Samples(), Contains("unserved_attempts_total{namespace=\"a\"} 1"));
  Preempt(InNamespace("a", "p", "7", 5));
  EXPECT_THAT(Samples(), Contains("unserved_attempts_total{namespace=\"a\"} 1")) << "beyond the minimum";
  Quota("b", "4", "8");
  EXPECT_EQ(Preempt(InNamespace("a", "p", "4", 5)), "full: b/b1");
  EXPECT_THAT(Samples(), Contains("unserved_attempts_total{namespace=\"a\"} 1")) << "evicts a pod";
}

}  // namespace
}  // namespace berth::plugins
