// Entries of pod groups: of Kubernetes' own and of other projects.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/load_config.hpp"
#include "scheduler/assembly/explainer.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/evaluation/group_explainer.hpp"
#include "scheduler/explanation/explanation_json.hpp"
#include "tools/explain/explanation_text.hpp"

namespace berth::explain {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kNodes = R"(
{apiVersion: v1, kind: Node, metadata: {name: large}, status: {allocatable: {cpu: "8", memory: 9Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: small}, status: {allocatable: {cpu: "3", memory: 9Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: shop},
 spec: {nodeName: large, containers: [{name: c, image: i, resources: {requests: {cpu: "5"}}}]}}
)";

// `more` are further fields of the metadata, `group` of the spec.
std::string Pod(const std::string& name, const std::string& more, const std::string& group = "") {
  return fmt::format(
      "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default{}}},\n"
      " spec: {{{}containers: [{{name: c, image: i, resources: {{requests: {{cpu: \"3\"}}}}}}]}}}}\n",
      name, more, group);
}

std::string Member(const std::string& name, const std::string& group) {
  return Pod(name, "", "schedulingGroup: {podGroupName: " + group + "}, ");
}

std::string Group(const std::string& name, int min_count) {
  return fmt::format(
      "---\n{{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {{name: {}, namespace: "
      "default}},\n"
      " spec: {{schedulingPolicy: {{gang: {{minCount: {}}}}}}}}}\n",
      name, min_count);
}

std::string ChildGroup(const std::string& name, const std::string& parent, int min_count,
                       const std::string& created) {
  return fmt::format(
      "---\n{{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {{name: {}, namespace: "
      "default, "
      "creationTimestamp: \"2026-01-01T00:00:{}Z\"}},\n"
      " spec: {{parentCompositePodGroupName: {}, schedulingPolicy: {{gang: {{minCount: {}}}}}}}}}\n",
      name, created, parent, min_count);
}

// `more` are further fields of the spec.
std::string Composite(const std::string& name, int min_group_count, const std::string& more = "") {
  return fmt::format(
      "---\n{{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, metadata: {{name: {}, "
      "namespace: default}},\n"
      " spec: {{{}schedulingPolicy: {{gang: {{minGroupCount: {}}}}}}}}}\n",
      name, more, min_group_count);
}

constexpr const char* kGangs = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Gangs}]}}
  pluginConfig: [{name: Gangs, args: {sources: [Coscheduling, Job, Annotation]}}]
)";
constexpr const char* kDefault =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

class GroupTextTest : public ::testing::Test {
 protected:
  void Load(const std::string& dump, const std::string& configuration = kDefault,
            const std::string& gates_text = "GenericWorkload=true") {
    std::vector<std::string> notes, problems;
    const std::vector<std::string> flags = {gates_text};
    const auto gates = config::FeatureGates::Parse(flags, notes);
    const auto config = process::ReadConfig(configuration, assembly::InTreePlugins(), *gates);
    ASSERT_TRUE(config) << config.error().message;
    auto created = assembly::Explainer::Create(*config, assembly::InTreePlugins(), notes);
    ASSERT_TRUE(created) << created.error().message;
    explainer = std::move(*created);
    ASSERT_TRUE(explainer->Load(kNodes + dump, "dump", problems));
    EXPECT_THAT(problems, testing::IsEmpty());
    explainer->FillCluster();
  }
  void LoadTree(const std::string& dump) {
    Load(dump, kDefault, "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true");
  }
  explanation::GroupExplanation Explain(const std::string& pod) {
    const auto key = evaluation::GroupOf(explainer->evaluator(), *explainer->FindPod("default/" + pod));
    EXPECT_TRUE(key) << pod;
    return evaluation::ExplainGroup(explainer->evaluator(), *key);
  }
  std::string Text(const std::string& pod) {
    return ExplanationText(GroupText(Explain(pod), explainer->engine().reasons(), {}), {});
  }

  std::unique_ptr<assembly::Explainer> explainer;
};

TEST_F(GroupTextTest, NamesTheMemberThatDoesNotFitAndThePodsThatHoldWhatItNeeds) {
  Load(Group("g", 3) + Member("a", "g") + Member("b", "g") + Member("c", "g"));
  EXPECT_EQ(
      Text("b"),
      "default/g (3 members, 3 needed) waits: 2 of 3 waiting find a node, 1 finds none\n"
      "  minCount (3) cannot be satisfied: 2 scheduled, 0 remaining, pod group preemption: No preemption "
      "victims found for incoming preemptor\n"
      "  found a node: a on large, b on small\n"
      "  default/c finds none, with the others on theirs: 0 of 2 nodes fit\n"
      "  2 nodes: large, small\n"
      "    Insufficient cpu [NodeResourcesFit]\n"
      "      requests 3; large lacks 3 (0 of 8 free), small lacks 3 (0 of 3 free)\n"
      "  cpu is held by shop/db (5 on large)\n"
      "  what would help, each evaluated\n"
      "    add a node like large\n"
      "      1 node fits then: large-new\n"
      "    wait until shop/db has ended, or delete it\n"
      "      1 node fits then: large\n");
}

TEST_F(GroupTextTest, DoesNotAdviseToDeleteAStaticPod) {
  const std::string holder =
      "---\n{apiVersion: v1, kind: Node, metadata: {name: n9},\n"
      " status: {allocatable: {cpu: \"9\", memory: 9Gi, pods: \"9\"}}}\n"
      "---\n{apiVersion: v1, kind: Pod, metadata: {name: static, namespace: shop, ownerReferences: "
      "[{apiVersion: v1, kind: Node, name: n9, uid: u, controller: true}]},\n"
      " spec: {nodeName: n9, containers: [{name: c, image: i, resources: {requests: {cpu: \"9\"}}}]}}\n";
  Load(holder + Group("g", 3) + Member("a", "g") + Member("b", "g") + Member("c", "g"));
  const std::string text = Text("b");
  EXPECT_THAT(text, HasSubstr("shop/static (9 on n9)"));
  EXPECT_THAT(text, HasSubstr("wait until shop/db has ended, or delete it"));
  EXPECT_THAT(text, Not(HasSubstr("wait until shop/static")));
}

TEST_F(GroupTextTest, AdviceIsKeptOnlyIfTheWholeGroupFitsThen) {
  Load(Group("g", 5) + Member("a", "g") + Member("b", "g") + Member("c", "g") + Member("d", "g") +
       Member("e", "g"));
  const auto group = Explain("a");
  EXPECT_EQ(group.record.failed + group.record.not_tried, 3U);
  EXPECT_THAT(group.obstacle.advice, testing::IsEmpty())
      << "one more node or one pod less is not enough for three";
}

TEST_F(GroupTextTest, TheClusterIsAsBefore) {
  Load(Group("g", 3) + Member("a", "g") + Member("b", "g") + Member("c", "g"));
  const std::string first = Text("a");
  EXPECT_EQ(Text("a"), first);
}

TEST_F(GroupTextTest, AGroupThatFitsHasANodeForEachMember) {
  Load(Group("g", 2) + Member("a", "g") + Member("b", "g"));
  EXPECT_EQ(Text("a"),
            "default/g (2 members, 2 needed) would be placed: 2 of 2 waiting find a node\n"
            "  on nodes then: a on large, b on small\n");
}

TEST_F(GroupTextTest, AGroupWithTooFewMembersIsNotTried) {
  Load(Group("g", 2) + Member("a", "g"));
  EXPECT_EQ(Text("a"),
            "default/g (1 member, 2 needed) is not evaluated\n"
            "  waiting for minCount pods from a gang to appear in scheduling queue\n"
            "  what would help, each evaluated\n"
            "    create 1 more pod of g\n"
            "      2 nodes fit then: large, small\n");
}

TEST_F(GroupTextTest, AGroupWithoutItsObjectIsNotTried) {
  Load(Member("a", "missing"));
  EXPECT_THAT(Text("a"),
              HasSubstr("default/missing (1 member, 0 needed) is not evaluated\n"
                        "  waiting for pods's pod group \"missing\" to appear in scheduling queue\n"));
}

TEST_F(GroupTextTest, MembersWithANodeCount) {
  Load(Group("g", 2) + Member("a", "g") +
       Pod("b", "", "nodeName: small, schedulingGroup: {podGroupName: g}, "));
  EXPECT_EQ(Text("a"),
            "default/g (2 members, 2 needed, 1 on nodes) would be placed: 1 of 1 waiting finds a node\n"
            "  on nodes: b on small\n"
            "  on nodes then: a on large\n");
}

TEST_F(GroupTextTest, MembersOfDifferentPriorityAreAnError) {
  Load(Group("g", 2) + Member("a", "g") + Pod("b", "", "priority: 5, schedulingGroup: {podGroupName: g}, "));
  EXPECT_THAT(Text("a"),
              HasSubstr("cannot be evaluated\n  all pods in a single pod group should have the same "
                        "priority as the pod group's priority, got 5 and 0\n"));
}

TEST_F(GroupTextTest, GroupsOfOtherProjectsAreRead) {
  const std::string labels = ", labels: {scheduling.x-k8s.io/pod-group: t}";
  Load(
      "---\n{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: t, namespace: "
      "default}, "
      "spec: {minMember: 3}}\n" +
          Pod("a", labels) + Pod("b", labels) + Pod("c", labels),
      kGangs);
  EXPECT_THAT(Text("a"),
              HasSubstr("default/podgroups.scheduling.x-k8s.io/t (3 members, 3 needed) waits: 2 of 3 "
                        "waiting find a node, 1 finds none\n"));
}

TEST_F(GroupTextTest, APodGroupOfAnotherProjectIsNoneOfKubernetes) {
  Load(
      "---\n{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g, namespace: "
      "default}, "
      "spec: {minMember: 1}}\n" +
      Member("a", "g"));
  EXPECT_THAT(Text("a"), HasSubstr("waiting for pods's pod group \"g\" to appear"));
}

TEST_F(GroupTextTest, JsonHasTheVerdictTheMembersAndTheObstacle) {
  Load(Group("g", 3) + Member("a", "g") + Member("b", "g") + Member("c", "g"));
  const std::string json = explanation::GroupJson(Explain("a"));
  EXPECT_THAT(json, HasSubstr(R"({"group":{"name":"default/g","result":"unschedulable",)"));
  EXPECT_THAT(json,
              HasSubstr(R"("minCount":3,"scheduled":0,"pending":3,"placed":2,"failed":1,"notTried":0)"));
  EXPECT_THAT(json, HasSubstr(R"("members":[{"pod":"default/a","node":"large"},)"
                              R"({"pod":"default/b","node":"small"},{"pod":"default/c"}])"));
  EXPECT_THAT(json, HasSubstr(R"("obstacle":{"namespace":"default","name":"c",)"));
  EXPECT_THAT(json,
              HasSubstr(R"("holders":[{"pod":"shop/db","node":"large","resource":"cpu","amount":"5"}]})"));
}

// --- trees of composite groups ---

// "first" with one member is tried before "second" with two; each node has room for one member.
std::string TwoGroups(const std::string& root = Composite("root", 2)) {
  return root + ChildGroup("first", "root", 1, "01") + ChildGroup("second", "root", 2, "02") +
         Member("a", "first") + Member("b", "second") + Member("c", "second");
}

TEST_F(GroupTextTest, AnEntryOfATreeNamesTheGroupAtWhichItFails) {
  LoadTree(TwoGroups());
  EXPECT_EQ(
      Text("a"),
      "default/root (3 members, 2 groups needed) waits: 2 of 3 waiting find a node, 1 finds none\n"
      "  pod group is unschedulable, 0/1 placements are available, first placement status: minCount (2) "
      "cannot "
      "be satisfied: 1 scheduled, 0 remaining\n"
      "  CompositePodGroup default/root (2 groups, 2 needed) does not start: 1 of 2 groups starts, 1 does "
      "not; "
      "1 more needed\n"
      "    PodGroup default/first (1 member, 1 needed) starts: 1 of 1 waiting finds a node\n"
      "    PodGroup default/second (2 members, 2 needed) does not start: 1 of 2 waiting finds a node, 1 "
      "finds "
      "none; 1 more needed\n"
      "      pod group is unschedulable, 0/1 placements are available, first placement status: minCount (2) "
      "cannot be satisfied: 1 scheduled, 0 remaining\n"
      "      1 member: 0/2 nodes are available: 2 Insufficient cpu.\n"
      "  the tree fails at default/second\n"
      "  found a node: a on large, b on small\n"
      "  default/c finds none, with the others on theirs: 0 of 2 nodes fit\n"
      "  2 nodes: large, small\n"
      "    Insufficient cpu [NodeResourcesFit]\n"
      "      requests 3; large lacks 3 (0 of 8 free), small lacks 3 (0 of 3 free)\n"
      "  cpu is held by shop/db (5 on large)\n"
      "  what would help, each evaluated\n"
      "    add a node like large\n"
      "      1 node fits then: large-new\n"
      "    wait until shop/db has ended, or delete it\n"
      "      1 node fits then: large\n");
}

TEST_F(GroupTextTest, AllMembersOfATreeHaveOneEntry) {
  LoadTree(TwoGroups());
  const auto of = [&](const char* pod) {
    return evaluation::GroupOf(explainer->evaluator(), *explainer->FindPod(pod));
  };
  EXPECT_EQ(of("default/a"), of("default/c"));
}

TEST_F(GroupTextTest, ATreeStartsAlthoughOneOfItsGroupsDoesNot) {
  LoadTree(TwoGroups(Composite("root", 1)));
  const auto tree = Explain("a");
  EXPECT_EQ(tree.record.result, record::Result::kScheduled);
  EXPECT_EQ(tree.record.tree->fails_at, "");
  const std::string text = Text("a");
  EXPECT_THAT(text, HasSubstr("default/root (3 members, 1 group needed) would be placed: "));
  EXPECT_THAT(text, HasSubstr("PodGroup default/first (1 member, 1 needed) starts"));
  EXPECT_THAT(text, HasSubstr("PodGroup default/second (2 members, 2 needed) does not start"));
}

TEST_F(GroupTextTest, AGroupBelowAnotherCompositeGroupIsNamed) {
  LoadTree(Composite("root", 1) + Composite("middle", 2, "parentCompositePodGroupName: root, ") +
           ChildGroup("first", "middle", 1, "01") + ChildGroup("second", "middle", 2, "02") +
           Member("a", "first") + Member("b", "second") + Member("c", "second"));
  const auto tree = Explain("a");
  EXPECT_EQ(tree.record.tree->fails_at, "default/second");
  EXPECT_EQ(tree.obstacle.pod, "default/c");
  std::vector<std::size_t> levels;
  for (const auto& group : tree.record.tree->groups) levels.push_back(group.level);
  EXPECT_THAT(levels, testing::ElementsAre(1, 2, 3, 3));
}

TEST_F(GroupTextTest, GroupsThatDidNotStartAreNotInTheWayOfTheObstacle) {
  LoadTree(Composite("root", 2) + Composite("middle", 1, "parentCompositePodGroupName: root, ") +
           ChildGroup("large", "middle", 3, "01") + ChildGroup("one", "middle", 1, "02") +
           ChildGroup("second", "root", 2, "03") + Member("a", "large") + Member("b", "large") +
           Member("c", "large") + Member("d", "one") + Member("e", "second") + Member("f", "second"));
  const auto tree = Explain("a");
  EXPECT_EQ(tree.record.tree->fails_at, "default/second");
  EXPECT_EQ(tree.obstacle.pod, "default/f");
  EXPECT_THAT(Text("a"), HasSubstr("requests 3; large lacks 3 (0 of 8 free), small lacks 3 (0 of 3 free)"));
}

TEST_F(GroupTextTest, EachGroupIsEvaluatedWithoutThoseThatFailed) {
  LoadTree(Composite("root", 1) + ChildGroup("first", "root", 3, "01") +
           ChildGroup("second", "root", 3, "02") + Member("a", "first") + Member("b", "first") +
           Member("c", "first") + Member("d", "second") + Member("e", "second") + Member("f", "second"));
  const auto tree = Explain("a");
  EXPECT_EQ(tree.record.tree->fails_at, "default/first");
  for (const std::size_t group : {1, 2}) {
    EXPECT_EQ(tree.record.tree->groups[group].placed, 2u);
    EXPECT_EQ(tree.record.tree->groups[group].failed, 1u);
  }
  EXPECT_EQ(tree.obstacle.pod, "default/c");
}

TEST_F(GroupTextTest, AnIncompleteTreeSaysWhichGroupLacksMembers) {
  LoadTree(Composite("root", 2) + ChildGroup("first", "root", 1, "01") +
           ChildGroup("second", "root", 2, "02") + Member("a", "first") + Member("b", "second"));
  EXPECT_EQ(Text("a"),
            "default/root (2 members, 2 groups needed) is not evaluated\n"
            "  waiting for composite pod group \"root\" tree to meet quorum\n"
            "  CompositePodGroup default/root (2 groups, 2 needed) is incomplete: 1 of 2 needed groups have "
            "enough members\n"
            "    PodGroup default/first (1 member, 1 needed) is not evaluated\n"
            "    PodGroup default/second (1 member, 2 needed) is incomplete: 1 of 2 needed members exist\n"
            "  the tree fails at default/second\n");
}

TEST_F(GroupTextTest, AMissingRootIsNamed) {
  LoadTree(ChildGroup("first", "root", 1, "01") + Member("a", "first"));
  EXPECT_THAT(Text("a"), HasSubstr("default/first (1 member, 1 needed) is not evaluated\n"));
  EXPECT_THAT(Text("a"), HasSubstr("compositepodgroup/default/root"));
}

TEST_F(GroupTextTest, AConstrainedTreeHasTheReasonsOfItsGroupsWithoutAdvice) {
  LoadTree(
      "---\n{apiVersion: v1, kind: Node, metadata: {name: racked, labels: {example.com/rack: a}}, "
      "status: {allocatable: {cpu: \"3\", memory: 9Gi, pods: \"9\"}}}\n" +
      TwoGroups(Composite("root", 2, "schedulingConstraints: {topology: [{key: example.com/rack}]}, ")));
  const auto tree = Explain("a");
  EXPECT_EQ(tree.obstacle.record, nullptr);
  EXPECT_EQ(tree.record.tree->fails_at, "default/second");
  ASSERT_FALSE(tree.record.tree->groups.back().reasons.empty());
  EXPECT_THAT(tree.record.tree->groups.back().reasons.front().message, HasSubstr("Insufficient cpu"));
}

TEST_F(GroupTextTest, TheClusterIsAsBeforeTheExplanationOfATree) {
  LoadTree(TwoGroups());
  const std::string first = Text("a");
  EXPECT_EQ(Text("c"), first);
}

TEST_F(GroupTextTest, JsonOfATreeHasItsGroups) {
  LoadTree(TwoGroups());
  const std::string json = explanation::GroupJson(Explain("a"));
  EXPECT_THAT(json,
              HasSubstr(R"("tree":{"failsAt":"default/second","groups":[)"
                        R"({"kind":"CompositePodGroup","name":"default/root","level":1,"verdict":"fails",)"));
  EXPECT_THAT(json,
              HasSubstr(R"({"kind":"PodGroup","name":"default/first","level":2,"verdict":"starts",)"
                        R"("minCount":1,"scheduled":0,"pending":1,"placed":1,"failed":0,"notTried":0})"));
  EXPECT_THAT(
      json,
      HasSubstr(R"("reasons":[{"members":1,"message":"0/2 nodes are available: 2 Insufficient cpu."}])"));
}

}  // namespace
}  // namespace berth::explain
