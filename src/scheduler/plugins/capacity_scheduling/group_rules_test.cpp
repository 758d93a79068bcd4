#include "scheduler/plugins/capacity_scheduling/group_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scheduler/cluster/overlay.hpp"
#include "scheduler/plugins/capacity_scheduling/fake_quota_cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using framework::Code;
using quota_testing::MakeQuota;
using quota_testing::QuotaList;
using quota_testing::QuotaTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kPrefix = "quota.scheduling.koordinator.sh/";

// A quota in namespace "quotas".
class GroupBuilder {
 public:
  GroupBuilder(const std::string& name, const QuotaList& min, const QuotaList& max)
      : quota_(MakeQuota("quotas", min, max, name)) {}
  GroupBuilder(const std::string& name, const std::string& min_cpu, const std::string& max_cpu)
      : GroupBuilder(name, QuotaList{{"cpu", min_cpu}}, QuotaList{{"cpu", max_cpu}}) {}
  GroupBuilder& Namespace(const std::string& ns) {
    quota_.metadata.ns = ns;
    return *this;
  }
  GroupBuilder& Below(const std::string& parent) { return Label("parent", parent); }
  GroupBuilder& Parent() { return Label("is-parent", "true"); }
  GroupBuilder& DoesNotLend() { return Label("allow-lent-resource", "false"); }
  GroupBuilder& Label(const std::string& name, const std::string& value) {
    quota_.metadata.labels.Set(kPrefix + name, value);
    return *this;
  }
  GroupBuilder& Annotation(const std::string& name, const std::string& value) {
    api::Labels annotations;
    if (quota_.metadata.annotations) annotations = *quota_.metadata.annotations;
    annotations.Set(kPrefix + name, value);
    quota_.metadata.annotations = annotations;
    return *this;
  }
  operator api::ElasticQuota() const { return quota_; }

 private:
  api::ElasticQuota quota_;
};

PodBuilder InGroup(const std::string& group, const std::string& name, std::string_view cpu,
                   std::int32_t priority = 0) {
  PodBuilder pod = MakePod(name).Namespace("a").Cpu(cpu).Priority(priority);
  return group.empty() ? pod : pod.Label(kPrefix + "name", group);
}

class QuotaGroupTest : public QuotaTest {
 protected:
  QuotaGroupTest() { args = "hierarchy: Koordinator"; }
  void Put(const GroupBuilder& group) { cluster.Put(api::ElasticQuota(group)); }
  // A pod without a node.
  void Wait(const PodBuilder& pod) {
    plugin();
    cluster.pending().Put(std::make_shared<const api::Pod>(pod));
  }
  void Gone(const PodBuilder& pod) { cluster.pending().Remove(api::Pod(pod).metadata.uid); }
};

// --- arguments ---

struct HierarchyCase {
  std::string name, args, error;  // empty: none
};
class QuotaHierarchy : public QuotaTest, public ::testing::WithParamInterface<HierarchyCase> {};
TEST_P(QuotaHierarchy, IsChecked) {
  const auto made = cluster.TryMake<CapacityScheduling>(GetParam().args);
  if (GetParam().error.empty()) {
    EXPECT_TRUE(made) << made.error().message;
  } else {
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr(GetParam().error));
  }
}
INSTANTIATE_TEST_SUITE_P(
    Table, QuotaHierarchy,
    ::testing::Values(
        HierarchyCase{"MayBeAbsent", "{}", ""}, HierarchyCase{"MayBeNone", "hierarchy: None", ""},
        HierarchyCase{"MayBeKoordinator", "hierarchy: Koordinator", ""},
        HierarchyCase{"AMistypedValueIsCorrected", "hierarchy: Koordinater",
                      "hierarchy: Unsupported value: \"Koordinater\": supported values: \"None\", "
                      "\"Koordinator\"; did you mean \"Koordinator\"?"},
        HierarchyCase{"AnUnknownValueIsAnError", "hierarchy: Tree", "hierarchy: Unsupported value: \"Tree\""},
        HierarchyCase{"OtherFieldsAreErrors", "hierachy: Koordinator", "hierachy"}),
    [](const auto& row) { return row.param.name; });

TEST_F(QuotaGroupTest, AllProfilesMustHaveTheSameHierarchy) {
  plugin();
  const auto other = cluster.TryMake<CapacityScheduling>("");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("all profiles"));
}

// --- admission ---

TEST_F(QuotaGroupTest, APodIsAdmittedUpToTheRuntimeQuota) {
  cluster.Add(MakeNode("n").Cpu("10"));
  Put(GroupBuilder("q", "2", "4"));
  cluster.Run("n", InGroup("q", "u", "3"));
  EXPECT_EQ(Rejection(InGroup("q", "p", "1")), "");
  EXPECT_EQ(Rejection(InGroup("q", "p", "1001m")),
            "Insufficient quotas, quotaName: q, runtime: cpu:4, used: cpu:3, pod's request: cpu:1001m, "
            "exceedDimensions: [cpu]");
  EXPECT_THAT(Details(),
              ElementsAre("quota q has used 3 of 4 cpu (runtime quota; minimum 2, maximum 4); the pod "
                          "requests 1001m"));
}

TEST_F(QuotaGroupTest, NodesMayOfferMoreInSumThanFitsAnInteger) {
  for (const char* node : {"n1", "n2"}) cluster.Add(MakeNode(node).Memory("5Ei"));
  Put(GroupBuilder("q", QuotaList{{"memory", "1Gi"}}, QuotaList{{"memory", "2Gi"}}));
  EXPECT_EQ(Rejection(InGroup("q", "p", "1").Memory("2Gi")), "");
}

// Both request 10 of 10; the minimums are 6 and 2, the rest of 2 is shared by the maximums.
TEST_F(QuotaGroupTest, PodsWithoutANodeCompeteForTheRuntimeQuota) {
  cluster.Add(MakeNode("n").Cpu("10"));
  Put(GroupBuilder("q", "6", "10"));
  Put(GroupBuilder("r", "2", "10"));
  EXPECT_EQ(Rejection(InGroup("r", "p", "10")), "");
  Wait(InGroup("q", "w", "10"));
  EXPECT_EQ(Rejection(InGroup("r", "p", "10")),
            "Insufficient quotas, quotaName: r, runtime: cpu:3, used: cpu:0, pod's request: cpu:10, "
            "exceedDimensions: [cpu]");
  EXPECT_EQ(Rejection(InGroup("r", "p", "2")), "");
  Gone(InGroup("q", "w", "10"));
  EXPECT_EQ(Rejection(InGroup("r", "p", "10")), "");
}

TEST_F(QuotaGroupTest, AnAncestorRejectsWithThePathToIt) {
  cluster.Add(MakeNode("n").Cpu("20"));
  Put(GroupBuilder("dep", "4", "6").Parent());
  Put(GroupBuilder("team-a", "2", "6").Below("dep"));
  Put(GroupBuilder("team-b", "2", "6").Below("dep"));
  cluster.Run("n", InGroup("team-a", "u", "5"));
  // The group's own runtime quota suffices: a minimum of 2, and the request of 5 has shrunk the other's part.
  EXPECT_EQ(Rejection(InGroup("team-b", "p", "2")),
            "Insufficient quotas, quotaNameTopo: [dep team-b], runtime: cpu:6, used: cpu:5, pod's request: "
            "cpu:2, exceedDimensions: [cpu]");
  EXPECT_THAT(
      Details(),
      ElementsAre("quota dep (above team-b) has used 5 of 6 cpu (runtime quota; minimum 4, maximum 6); "
                  "the pod requests 2"));
  EXPECT_EQ(Rejection(InGroup("team-b", "p", "1")), "");
}

// The maximum of the parent's memory is below what is used.
TEST_F(QuotaGroupTest, OfAnAncestorOnlyTheResourcesThatThePodRequestsCount) {
  cluster.Add(MakeNode("n").Cpu("20").Memory("8Gi"));
  const QuotaList max = {{"cpu", "20"}, {"memory", "8Gi"}};
  Put(GroupBuilder("dep", QuotaList{}, QuotaList{{"cpu", "20"}, {"memory", "1Gi"}}).Parent());
  Put(GroupBuilder("team-a", QuotaList{}, max).Below("dep"));
  Put(GroupBuilder("team-b", QuotaList{}, max).Below("dep"));
  cluster.Run("n", InGroup("team-a", "u", "1").Memory("2Gi"));
  EXPECT_EQ(Rejection(InGroup("team-b", "p", "1")), "");
  EXPECT_THAT(Rejection(InGroup("team-b", "p", "1").Memory("1Mi")), HasSubstr("exceedDimensions: [memory]"));
}

// Each of two groups that request more has a runtime quota of 5, each of three 3334 or 3333 thousandths.
TEST_F(QuotaGroupTest, AWaitingPodWhoseLabelChangesRequestsInOneGroup) {
  cluster.Add(MakeNode("n").Cpu("10"));
  for (const char* name : {"q", "r", "s"}) Put(GroupBuilder(name, "0", "10"));
  Wait(InGroup("q", "w", "10"));
  EXPECT_EQ(Rejection(InGroup("s", "p", "5")), "");
  Wait(InGroup("r", "w", "10"));
  EXPECT_EQ(Rejection(InGroup("s", "p", "5")), "");
  EXPECT_NE(Rejection(InGroup("s", "p", "5001m")), "") << "the pod requests in the other group";
}

TEST_F(QuotaGroupTest, PodsThatAreNotPreemptibleStayWithinTheMinimum) {
  cluster.Add(MakeNode("n").Cpu("20"));
  Put(GroupBuilder("q", "3", "10"));
  cluster.Run("n", InGroup("q", "u", "2").Label(kPrefix + "preemptible", "false"));
  cluster.Run("n", InGroup("q", "v", "4"));
  EXPECT_EQ(Rejection(InGroup("q", "p", "1").Label(kPrefix + "preemptible", "false")), "");
  EXPECT_EQ(Rejection(InGroup("q", "p", "2").Label(kPrefix + "preemptible", "false")),
            "Insufficient non-preemptible quotas, quotaName: q, min: cpu:3, nonPreemptibleUsed: cpu:2, pod's "
            "request: cpu:2, exceedDimensions: [cpu]");
  EXPECT_THAT(Details(),
              ElementsAre("quota q has used 2 of 3 cpu for pods that are not preemptible (its minimum); "
                          "the pod requests 2"));
  EXPECT_EQ(Rejection(InGroup("q", "p", "2")), "");
}

struct GroupChoiceCase {
  std::string name;
  GroupBuilder quota;
  PodBuilder pod;
  bool limited;  // by the quota, which admits nothing
};
class QuotaGroupChoice : public QuotaGroupTest, public ::testing::WithParamInterface<GroupChoiceCase> {};
TEST_P(QuotaGroupChoice, FollowsTheDocumentation) {
  cluster.Add(MakeNode("n").Cpu("20"));
  Put(GetParam().quota);
  EXPECT_EQ(Rejection(GetParam().pod) != "", GetParam().limited) << Rejection(GetParam().pod);
}
INSTANTIATE_TEST_SUITE_P(
    Table, QuotaGroupChoice,
    ::testing::Values(
        GroupChoiceCase{"TheLabelNamesAQuotaOfAnyNamespace", GroupBuilder("q", "0", "0"),
                        InGroup("q", "p", "1"), true},
        GroupChoiceCase{"AnUnknownNameMeansTheDefaultGroup", GroupBuilder("q", "0", "0"),
                        InGroup("x", "p", "1"), false},
        GroupChoiceCase{"WithoutTheLabelTheQuotaNamedAfterTheNamespaceCounts",
                        GroupBuilder("a", "0", "0").Namespace("a"), InGroup("", "p", "1"), true},
        GroupChoiceCase{"OtherQuotasOfTheNamespaceDoNotCount", GroupBuilder("q", "0", "0").Namespace("a"),
                        InGroup("", "p", "1"), false},
        GroupChoiceCase{"ThenTheAnnotationOfAQuotaCounts",
                        GroupBuilder("q", "0", "0").Annotation("namespaces", R"(["b", "a"])"),
                        InGroup("", "p", "1"), true},
        GroupChoiceCase{"AnAnnotationThatIsNoListIsIgnored",
                        GroupBuilder("q", "0", "0").Annotation("namespaces", "a"), InGroup("", "p", "1"),
                        false},
        GroupChoiceCase{"TheDefaultGroupHasTheMaximumOfItsQuota",
                        GroupBuilder("koordinator-default-quota", "0", "0"), InGroup("", "p", "1"), true},
        GroupChoiceCase{"TheSystemGroupIsNamedByTheLabel", GroupBuilder("koordinator-system-quota", "0", "0"),
                        InGroup("koordinator-system-quota", "p", "1"), true},
        GroupChoiceCase{"ResourcesThatTheMaximumDoesNotListAreFree",
                        GroupBuilder("q", QuotaList{}, QuotaList{{"memory", "1Gi"}}), InGroup("q", "p", "1"),
                        false},
        GroupChoiceCase{"TheRootOfOldVersionsIsTheRoot", GroupBuilder("q", "9", "9").Below("root"),
                        InGroup("q", "p", "1"), false}),
    [](const auto& row) { return row.param.name; });

TEST_F(QuotaGroupTest, WhatTheDefaultGroupUsesIsNotShared) {
  cluster.Add(MakeNode("n").Cpu("10"));
  Put(GroupBuilder("q", "0", "10"));
  EXPECT_EQ(Rejection(InGroup("q", "p", "8")), "");
  cluster.Run("n", InGroup("", "u", "4"));
  EXPECT_THAT(Rejection(InGroup("q", "p", "8")), HasSubstr("runtime: cpu:6"));
  EXPECT_EQ(Rejection(InGroup("q", "p", "6")), "");
}

TEST_F(QuotaGroupTest, NodesAndQuotasTakeEffectAtOnce) {
  Put(GroupBuilder("q", "0", "10"));
  cluster.Add(MakeNode("n").Cpu("2"));
  EXPECT_THAT(Rejection(InGroup("q", "p", "3")), HasSubstr("runtime: cpu:2"));
  cluster.Add(MakeNode("m").Cpu("2"));
  EXPECT_EQ(Rejection(InGroup("q", "p", "3")), "");
  Put(GroupBuilder("q", "0", "1"));
  EXPECT_THAT(Rejection(InGroup("q", "p", "3")), HasSubstr("runtime: cpu:1"));
}

TEST_F(QuotaGroupTest, AResourceThatAQuotaListsLaterCountsForPodsThatRun) {
  cluster.Add(MakeNode("n").Cpu("10").Memory("8Gi"));
  Put(GroupBuilder("q", "0", "10"));
  cluster.Run("n", InGroup("q", "u", "1").Memory("2Gi"));
  EXPECT_EQ(Rejection(InGroup("q", "p", "1").Memory("3Gi")), "");
  Put(GroupBuilder("q", QuotaList{}, QuotaList{{"cpu", "10"}, {"memory", "4Gi"}}));
  EXPECT_THAT(Rejection(InGroup("q", "p", "1").Memory("3Gi")), HasSubstr("exceedDimensions: [memory]"));
  EXPECT_EQ(Rejection(InGroup("q", "p", "1").Memory("2Gi")), "");
  Put(GroupBuilder("q", QuotaList{}, QuotaList{{"memory", "4Gi"}}));
  EXPECT_EQ(Rejection(InGroup("q", "p", "20").Memory("2Gi")), "") << "cpu is not limited any more";
}

TEST_F(QuotaGroupTest, TheWeightOfTheAnnotationCounts) {
  cluster.Add(MakeNode("n").Cpu("8"));
  Put(GroupBuilder("q", "0", "8").Annotation("shared-weight", R"({"cpu": "3"})"));
  Put(GroupBuilder("r", "0", "8").Annotation("shared-weight", R"({"cpu": 1})"));
  Wait(InGroup("q", "w", "8"));
  EXPECT_THAT(Rejection(InGroup("r", "p", "8")), HasSubstr("runtime: cpu:2"));
}

TEST_F(QuotaGroupTest, OverlaysDoNotChangeWhatAGroupUses) {
  cluster.Add(MakeNode("n").Cpu("10"));
  Put(GroupBuilder("q", "0", "4"));
  cluster.Run("n", InGroup("q", "u", "4"));
  EXPECT_NE(Rejection(InGroup("q", "p", "1")), "");
  const cluster::Row row = cluster.RowOf("n");
  cluster::NodeTable::Overlay overlay(cluster.nodes());
  overlay.Remove(row, *cluster.nodes().pods(row).front());
  EXPECT_NE(Rejection(InGroup("q", "p", "1")), "");
}

// --- the tree's defects ---

struct DefectCase {
  std::string name;
  std::vector<GroupBuilder> quotas;
  std::string rejection;  // of a pod of group "q"
};
class QuotaGroupDefect : public QuotaGroupTest, public ::testing::WithParamInterface<DefectCase> {};
TEST_P(QuotaGroupDefect, IsTheReasonOfThePod) {
  cluster.handle().metrics = &registry;
  cluster.Add(MakeNode("n").Cpu("10"));
  for (const GroupBuilder& quota : GetParam().quotas) Put(quota);
  const framework::Status status = PreFilter(InGroup("q", "p", "1"));
  EXPECT_EQ(status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_THAT(status.Message(), HasSubstr(GetParam().rejection));
}
std::vector<GroupBuilder> Chain(int length) {
  std::vector<GroupBuilder> chain = {GroupBuilder("g0", "0", "1").Parent()};
  for (int i = 1; i < length; ++i)
    chain.push_back(
        GroupBuilder("g" + std::to_string(i), "0", "1").Parent().Below("g" + std::to_string(i - 1)));
  chain.push_back(GroupBuilder("q", "0", "1").Below("g" + std::to_string(length - 1)));
  return chain;
}
INSTANTIATE_TEST_SUITE_P(
    Table, QuotaGroupDefect,
    ::testing::Values(
        DefectCase{"AMissingParent",
                   {GroupBuilder("q", "0", "1").Below("p")},
                   "ElasticQuota quotas/q: its parent \"p\" does not exist"},
        DefectCase{"AParentThatIsNone",
                   {GroupBuilder("q", "0", "1").Below("p"), GroupBuilder("p", "0", "1")},
                   "its parent \"p\" is no parent: label quota.scheduling.koordinator.sh/is-parent must be "
                   "\"true\""},
        DefectCase{"ACycle",
                   {GroupBuilder("q", "0", "1").Below("p").Parent(),
                    GroupBuilder("p", "0", "1").Below("q").Parent()},
                   "its parents form a cycle: "},
        DefectCase{"AQuotaThatIsItsOwnParent",
                   {GroupBuilder("q", "0", "1").Below("q").Parent()},
                   "its parents form a cycle: q -> q"},
        DefectCase{"ACycleAbove",
                   {GroupBuilder("q", "0", "1").Below("p"), GroupBuilder("p", "0", "1").Below("p").Parent()},
                   "its parent \"p\" has no place in the tree"},
        DefectCase{"ADefectAbove",
                   {GroupBuilder("q", "0", "1").Below("p"), GroupBuilder("p", "0", "1").Below("x").Parent()},
                   "its parent \"p\" has no place in the tree"},
        DefectCase{"AResourceThatTheParentDoesNotList",
                   {GroupBuilder("q", QuotaList{}, QuotaList{{"memory", "1"}}).Below("p"),
                    GroupBuilder("p", "0", "1").Parent()},
                   "spec.max: its parent \"p\" does not list memory"},
        DefectCase{"TooManyLevels", Chain(16), "more than 16 levels"},
        DefectCase{
            "PodsOfAParent", {GroupBuilder("q", "0", "1").Parent()}, "pods cannot belong to a parent"}),
    [](const auto& row) { return row.param.name; });

TEST_F(QuotaGroupTest, SixteenLevelsAreAllowed) {
  cluster.Add(MakeNode("n").Cpu("10"));
  for (const GroupBuilder& quota : Chain(15)) Put(quota);
  EXPECT_EQ(Rejection(InGroup("q", "p", "1")), "");
}

TEST_F(QuotaGroupTest, OfTwoQuotasWithOneNameTheFirstCounts) {
  cluster.Add(MakeNode("n").Cpu("10"));
  Put(GroupBuilder("q", "0", "1").Namespace("b"));
  Put(GroupBuilder("q", "0", "5").Namespace("c"));
  EXPECT_THAT(Rejection(InGroup("q", "p", "2")), HasSubstr("runtime: cpu:1,"));
}

TEST_F(QuotaGroupTest, PodsOfADefectiveQuotaAreNotShared) {
  cluster.Add(MakeNode("n").Cpu("10"));
  Put(GroupBuilder("q", "0", "10"));
  Put(GroupBuilder("lost", "0", "10").Below("x"));
  cluster.Run("n", InGroup("lost", "u", "4"));
  EXPECT_THAT(Rejection(InGroup("q", "p", "8")), HasSubstr("runtime: cpu:6"));
}

// --- preemption ---

class QuotaGroupPreemption : public QuotaGroupTest {
 protected:
  QuotaGroupPreemption() { cluster.Add(MakeNode("n").Cpu("10")); }
};

TEST_F(QuotaGroupPreemption, LessImportantPodsOfTheGroupAreEvicted) {
  Put(GroupBuilder("q", "0", "4"));
  cluster.Run("n", InGroup("q", "low", "2", 1));
  cluster.Run("n", InGroup("q", "high", "2", 9));
  EXPECT_EQ(Preempt(InGroup("q", "p", "2", 5)), "n: a/low");
}

TEST_F(QuotaGroupPreemption, PodsOfOtherGroupsStay) {
  Put(GroupBuilder("q", "8", "10"));
  Put(GroupBuilder("r", "2", "10"));
  cluster.Run("n", InGroup("r", "borrower", "10", -9));
  EXPECT_EQ(Rejection(InGroup("q", "p", "4", 9)), "");
  EXPECT_THAT(Preempt(InGroup("q", "p", "4", 9)), Not(HasSubstr("borrower")));
}

TEST_F(QuotaGroupPreemption, PodsThatAreNotPreemptibleStay) {
  Put(GroupBuilder("q", "4", "4"));
  cluster.Run("n", InGroup("q", "kept", "2", 1).Label(kPrefix + "preemptible", "false"));
  cluster.Run("n", InGroup("q", "low", "2", 2));
  EXPECT_EQ(Preempt(InGroup("q", "p", "2", 5)), "n: a/low");
}

TEST_F(QuotaGroupPreemption, PodsOfTheDefaultGroupStay) {
  Put(GroupBuilder("koordinator-default-quota", "0", "4"));
  cluster.Run("n", InGroup("", "low", "4", 1));
  EXPECT_THAT(Preempt(InGroup("", "p", "2", 5)), Not(HasSubstr("low")));
}

// The parent stays exceeded by the other team, whose pods may not be evicted.
TEST_F(QuotaGroupPreemption, NothingIsEvictedIfAnAncestorStaysExceeded) {
  Put(GroupBuilder("dep", "0", "4").Parent());
  Put(GroupBuilder("team-a", "0", "4").Below("dep"));
  Put(GroupBuilder("team-b", "0", "4").Below("dep"));
  cluster.Run("n", InGroup("team-a", "u", "4", 1));
  cluster.Run("n", InGroup("team-b", "low", "1", 1));
  EXPECT_THAT(Preempt(InGroup("team-b", "p", "2", 5)), HasSubstr("global quota max exceeded"));
}

TEST_F(QuotaGroupPreemption, APodThatStillFitsIsNotEvicted) {
  Put(GroupBuilder("q", "0", "6"));
  cluster.Run("n", InGroup("q", "one", "2", 1));
  cluster.Run("n", InGroup("q", "two", "2", 2));
  cluster.Run("n", InGroup("q", "three", "2", 3));
  EXPECT_EQ(Preempt(InGroup("q", "p", "2", 5)), "n: a/one");
}

// --- events ---

class QuotaGroupHint : public QuotaGroupTest {
 protected:
  // Whether the registration for this resource retries the pod.
  bool Retries(framework::EventResource resource, const PodBuilder& pod,
               const framework::EventObjects& objects = {}) {
    for (const auto& registration : plugin().EventsToRegister()) {
      if (registration.event.resource == resource)
        return *registration.hint(cluster.Prepare(pod), objects) == framework::Hint::kQueue;
    }
    ADD_FAILURE();
    return false;
  }
};

TEST_F(QuotaGroupHint, APodIsRetriedOnlyIfItIsAdmittedNow) {
  cluster.Add(MakeNode("n").Cpu("2"));
  Put(GroupBuilder("q", "0", "10"));
  EXPECT_FALSE(Retries(framework::EventResource::kNode, InGroup("q", "p", "3")));
  EXPECT_FALSE(Retries(framework::EventResource::kAssignedPod, InGroup("q", "p", "3")));
  cluster.Add(MakeNode("m").Cpu("2"));
  EXPECT_TRUE(Retries(framework::EventResource::kNode, InGroup("q", "p", "3")));
  EXPECT_TRUE(Retries(framework::EventResource::kElasticQuota, InGroup("q", "p", "3")));
}

TEST_F(QuotaGroupHint, AnEventIsPublishedWhenAPodWithoutANodeLeaves) {
  cluster.Add(MakeNode("n").Cpu("2"));
  Put(GroupBuilder("q", "0", "10"));
  Wait(InGroup("q", "w", "2"));
  (void)PreFilter(InGroup("q", "p", "1"));
  cluster.loop().Pass(std::chrono::seconds(5));
  EXPECT_THAT(cluster.services().published, IsEmpty());
  Gone(InGroup("q", "w", "2"));
  cluster.loop().Pass(std::chrono::seconds(5));
  EXPECT_THAT(cluster.services().published, ElementsAre("QuotaRequestsDecreased"));
}

// A pod that gets a node requests what it did before.
TEST_F(QuotaGroupHint, NoEventIsPublishedWhenAPodGetsANode) {
  cluster.Add(MakeNode("n").Cpu("2"));
  Put(GroupBuilder("q", "0", "10"));
  Wait(InGroup("q", "w", "1"));
  (void)PreFilter(InGroup("q", "p", "1"));
  cluster.Run("n", InGroup("q", "w", "1"));
  Gone(InGroup("q", "w", "1"));
  cluster.loop().Pass(std::chrono::seconds(5));
  EXPECT_THAT(cluster.services().published, IsEmpty());
  EXPECT_THAT(Rejection(InGroup("q", "p", "2")), HasSubstr("runtime: cpu:2, used: cpu:1,"));
}

// --- metrics ---

TEST_F(QuotaGroupTest, TheMetricsShowEveryLevel) {
  cluster.handle().metrics = &registry;
  cluster.Add(MakeNode("n").Cpu("20"));
  Put(GroupBuilder("dep", "4", "6").Parent());
  Put(GroupBuilder("team", "2", "5").Below("dep"));
  Put(GroupBuilder("lost", "2", "5").Below("x"));
  cluster.Run("n", InGroup("team", "u", "1500m"));
  EXPECT_EQ(Rejection(InGroup("team", "p", "2")), "");
  const std::string text = registry.Expose();
  for (const char* line :
       {R"(berth_quota_group_used{quota="dep",resource="cpu"} 1.5)",
        R"(berth_quota_group_used{quota="team",resource="cpu"} 1.5)",
        R"(berth_quota_group_runtime{quota="dep",resource="cpu"} 3.5)",
        R"(berth_quota_group_runtime{quota="team",resource="cpu"} 3.5)",
        R"(berth_quota_group_min{quota="team",resource="cpu"} 2)",
        R"(berth_quota_group_max{quota="dep",resource="cpu"} 6)", "berth_quota_groups_without_place 1"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("quota=\"lost\"")));
  EXPECT_THAT(text, Not(HasSubstr("berth_quota_used")));
}

}  // namespace
}  // namespace berth::plugins
