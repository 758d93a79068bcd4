// Questions that are evaluated on copies of the scenario's objects: another configuration, consolidation.
#include <gmock/gmock.h>

#include <atomic>

#include "process/load_config.hpp"
#include "tools/what_if/compare.hpp"
#include "tools/what_if/consolidate.hpp"
#include "tools/what_if/fake_question.hpp"

namespace berth::what_if {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kPacking = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
  plugins:
    score: {disabled: [{name: NodeResourcesBalancedAllocation}]}
)";
constexpr const char* kDefault =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
// Without the filter for resources.
constexpr const char* kOvercommitting = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {disabled: [{name: NodeResourcesFit}]}
)";

const std::atomic<bool> kGoOn{false};

Comparison Compare(Question& question, const char* after, ComparedPods pods) {
  const runtime::Registry plugins = assembly::InTreePlugins();
  const auto first = process::ReadConfig(kDefault, plugins), second = process::ReadConfig(after, plugins);
  if (!first || !second) {
    ADD_FAILURE() << (first ? second : first).error().message;
    return {};
  }
  auto compared = CompareConfigs(question.scenario().Contents(), *first, *second, plugins, pods, kGoOn,
                                 [](std::size_t) {});
  EXPECT_TRUE(compared.has_value());
  return compared ? *std::move(compared) : Comparison();
}

TEST(CompareConfigs, TheSameConfigurationChangesNothing) {
  Question question(NodeText("a", 4) + NodeText("b", 8) + PodText("web", 1, "a") + PodText("large", 9));
  const Comparison compared = Compare(question, kDefault, ComparedPods::kAll);
  EXPECT_EQ(compared.pods, 2u);
  EXPECT_THAT(compared.changed, IsEmpty());
  EXPECT_EQ(compared.other_totals, 0u);
}

TEST(CompareConfigs, NamesBothNodesWithTheirTotals) {
  Question question(NodeText("a", 4) + NodeText("b", 4) + PodText("runs", 2, "a") + PodText("web", 1, "a"));
  const Comparison compared = Compare(question, kPacking, ComparedPods::kAll);
  EXPECT_EQ(compared.pods, 2u);
  ASSERT_THAT(compared.changed, SizeIs(2)) << "each would follow the other one";
  const ChangedPlacement& pod = compared.changed[1];
  EXPECT_EQ(pod.pod, "shop/web");
  EXPECT_EQ(pod.bound_to, "a");
  EXPECT_EQ(pod.before.node, "b");
  EXPECT_EQ(pod.after.node, "a");
  EXPECT_GT(*pod.before.own_total, *pod.before.other_total);
  EXPECT_GT(*pod.after.own_total, *pod.after.other_total);
  EXPECT_EQ(Compare(question, kPacking, ComparedPods::kPending).pods, 0u);
}

TEST(CompareConfigs, APodThatFitsOnlyWithOneOfThemHasChanged) {
  Question question(NodeText("a", 4) + PodText("large", 9));
  const Comparison compared = Compare(question, kOvercommitting, ComparedPods::kPending);
  ASSERT_THAT(compared.changed, SizeIs(1));
  EXPECT_EQ(compared.changed[0].before.node, "");
  EXPECT_THAT(compared.changed[0].before.failure, HasSubstr("Insufficient cpu"));
  EXPECT_EQ(compared.changed[0].after.node, "a");
}

TEST(CompareConfigs, EndsAtThePodAtWhichItIsInterrupted) {
  std::string dump = NodeText("a", 4);
  for (int i = 0; i < 1001; ++i) dump += PodText("p" + std::to_string(i), 9);
  Question question(dump);
  const runtime::Registry plugins = assembly::InTreePlugins();
  const auto config = process::ReadConfig(kDefault, plugins).value();
  std::atomic<bool> stop{false};
  const auto compared = CompareConfigs(question.scenario().Contents(), config, config, plugins,
                                       ComparedPods::kPending, stop, [&](std::size_t) { stop = true; });
  ASSERT_FALSE(compared.has_value());
  EXPECT_EQ(compared.error().code, ErrorCode::kCancelled);
}

struct Consolidated {
  std::vector<std::string> emptied, moves, kept;
};
Consolidated Consolidate(Question& question) {
  const runtime::Registry plugins = assembly::InTreePlugins();
  const auto config = config::DefaultSchedulerConfig({}, &plugins.codecs());
  const auto found =
      FindConsolidation(question.scenario().Contents(), config, plugins, kGoOn, [](std::size_t) {});
  EXPECT_TRUE(found.has_value());
  Consolidated texts;
  for (const EmptiedNode& node : found->emptied) texts.emptied.push_back(node.node);
  for (const MovedPod& move : found->moves) texts.moves.push_back(move.pod + " " + move.from + " " + move.to);
  for (const KeptNode& node : found->kept) texts.kept.push_back(node.node + ": " + node.why);
  return texts;
}
Consolidated Consolidate(const std::string& dump) {
  Question question(dump);
  return Consolidate(question);
}
std::string Web(const std::string& name, int cpus, const std::string& node) {
  return PodText(name, cpus, node, OwnedBy("ReplicaSet", "web"));
}

TEST(Consolidation, EmptiesTheLeastUsedNodesFirst) {
  const Consolidated found = Consolidate(NodeText("a", 4) + NodeText("b", 4) + NodeText("c", 4) +
                                         Web("w1", 1, "a") + Web("w2", 2, "b") + Web("w3", 3, "c"));
  EXPECT_THAT(found.emptied, ElementsAre("a"));
  EXPECT_THAT(found.moves, SizeIs(1));
  EXPECT_THAT(found.kept, SizeIs(2));
}

TEST(Consolidation, APodThatMovesTwiceHasOneMove) {
  // w1 goes to b, which is emptied later.
  const Consolidated found = Consolidate(NodeText("a", 4) + NodeText("b", 4) + NodeText("c", 9) +
                                         Web("w1", 1, "a") + Web("w2", 1, "b") + Web("w3", 5, "c"));
  EXPECT_THAT(found.emptied, ElementsAre("a", "b"));
  EXPECT_THAT(found.moves, ElementsAre("shop/w1 a c", "shop/w2 b c"));
}

struct KeptCase {
  const char* name;
  std::string pods;
  const char* want;
};
TEST(Consolidation, NodesStayForTheirPods) {
  const KeptCase cases[] = {
      {"no controller", PodText("single", 1, "a"),
       "a: pod shop/single has no controller that would replace it"},
      {"a budget without room", Web("w1", 1, "a") + BudgetText("web", 0),
       "a: PodDisruptionBudget shop/web-budget allows no disruption of pod shop/w1"},
      {"no room elsewhere", Web("w1", 3, "a"), "a: pod shop/w1 fits on no other node that remains"},
  };
  for (const KeptCase& c : cases) {
    const Consolidated found =
        Consolidate(NodeText("a", 8) + NodeText("b", 4) + PodText("full", 3, "b") + c.pods);
    EXPECT_THAT(found.emptied, IsEmpty()) << c.name;
    EXPECT_THAT(found.kept, ::testing::Contains(c.want)) << c.name;
    EXPECT_THAT(found.moves, IsEmpty()) << c.name;
  }
}

TEST(Consolidation, ADrainUsesItsBudgetsUntilTheReplacementsArePlaced) {
  const std::string dump = NodeText("a", 8) + NodeText("b", 2) + NodeText("c", 4) + Web("w1", 6, "a") +
                           Web("w2", 1, "b") + PodText("single", 1, "c") + BudgetText("web", 1);
  Question without_room(dump);
  without_room.Apply(Drain{"a"});
  EXPECT_THAT(without_room.Outcomes(), ElementsAre("web-0 waits"));
  EXPECT_THAT(
      Consolidate(without_room).kept,
      ::testing::Contains("b: PodDisruptionBudget shop/web-budget allows no disruption of pod shop/w2"));
  Question with_room(dump + NodeText("d", 16));
  with_room.Apply(Drain{"a"});
  EXPECT_THAT(with_room.Outcomes(), ElementsAre("web-0 on d"));
  EXPECT_THAT(Consolidate(with_room).emptied, ::testing::Contains("b"));
}

TEST(Consolidation, ABudgetOfAManifestDoesNotCount) {
  Question question(NodeText("a", 8) + NodeText("b", 8) + Web("w1", 1, "a") + Web("w2", 2, "b"));
  const TemporaryFile file(BudgetText("web", 0) + PodText("new", 1));
  question.Apply(AddPods{.file = file.path(), .replicas = std::nullopt});
  EXPECT_THAT(Consolidate(question).kept, ::testing::Each(::testing::Not(HasSubstr("PodDisruptionBudget"))));
}

// Such a pod may stay on a cordoned node, and return to one that was emptied.
TEST(Consolidation, APodThatToleratesCordonedNodesLeavesThemAllTheSame) {
  const auto tolerant = [](const std::string& name, int cpus, const std::string& node) {
    return PodText(name, cpus, node, OwnedBy("ReplicaSet", "web"), ", tolerations: [{operator: Exists}]");
  };
  const Consolidated found =
      Consolidate(NodeText("a", 8) + NodeText("b", 8) + NodeText("c", 16) + tolerant("w1", 1, "a") +
                  tolerant("w2", 2, "b") + PodText("single", 12, "c"));
  EXPECT_THAT(found.emptied, ElementsAre("a", "b"));
  EXPECT_THAT(found.moves, ElementsAre("shop/w1 a c", "shop/w2 b c"));
  const Consolidated full =
      Consolidate(NodeText("a", 8) + NodeText("b", 4) + tolerant("w1", 1, "a") + PodText("single", 4, "b"));
  EXPECT_THAT(full.emptied, IsEmpty());
  EXPECT_THAT(full.kept, ::testing::Contains("a: pod shop/w1 fits on no other node that remains"));
}

TEST(Consolidation, PodsOfAKeptNodeAreWhereTheyWere) {
  // w1 could go to b, but w2 fits nowhere. So w1 stays, and w3 gets the place on b.
  const Consolidated found =
      Consolidate(NodeText("a", 10, ", spec: {unschedulable: true}") + NodeText("b", 8) + NodeText("c", 4) +
                  Web("w1", 2, "a") + Web("w2", 3, "a") + PodText("single", 6, "b") + Web("w3", 2, "c"));
  EXPECT_THAT(found.kept, ::testing::Contains("a: pod shop/w2 fits on no other node that remains"));
  EXPECT_THAT(found.emptied, ElementsAre("c"));
  EXPECT_THAT(found.moves, ElementsAre("shop/w3 c b"));
}

TEST(Consolidation, EndsAfterTheNodeAtWhichItIsInterrupted) {
  Question question(NodeText("a", 4) + NodeText("b", 4) + NodeText("c", 4));
  const runtime::Registry plugins = assembly::InTreePlugins();
  const auto config = config::DefaultSchedulerConfig({}, &plugins.codecs());
  std::atomic<bool> stop{false};
  std::size_t tried = 0;
  const auto found =
      FindConsolidation(question.scenario().Contents(), config, plugins, stop, [&](std::size_t count) {
        tried = count;
        stop = true;
      });
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(tried, 1u);
}

TEST(Consolidation, PodsOfDaemonSetsStay) {
  const Consolidated found = Consolidate(NodeText("a", 8) + NodeText("b", 8) + Web("w1", 5, "b") +
                                         PodText("agent-x", 1, "a", OwnedBy("DaemonSet", "agent")));
  EXPECT_THAT(found.emptied, ElementsAre("a"));
  EXPECT_THAT(found.moves, IsEmpty());
}

}  // namespace
}  // namespace berth::what_if
