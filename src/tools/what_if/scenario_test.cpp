#include "tools/what_if/scenario.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tools/what_if/fake_question.hpp"

namespace berth::what_if {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Texts = std::vector<std::string>;

PodSelection Pods(const std::string& text) { return ParsePods(text).value(); }

TEST(Scenario, PlacesThePodsThatWaitBeforeTheFirstChange) {
  const Question question(NodeText("a", 2) + PodText("web", 2) + PodText("large", 3));
  EXPECT_EQ(question.Outcomes(), (Texts{"large waits", "web on a"}));
}

TEST(Scenario, AddedNodesAreCopiesWithTheDaemonSetPodsOfTheModel) {
  Question question(NodeText("a", 4,
                             ", spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, "
                             "effect: NoSchedule}, {key: gpu, effect: NoSchedule}]}") +
                    PodText("agent-x", 1, "a", OwnedBy("DaemonSet", "agent")) +
                    PodText("web", 4, "", "", ", tolerations: [{key: gpu, operator: Exists}]") +
                    PodText("small", 3, "", "", ", tolerations: [{key: gpu, operator: Exists}]") +
                    PodText("plain", 1));
  EXPECT_EQ(question.Outcomes(), (Texts{"plain waits", "small waits", "web waits"})) << "a is cordoned";
  const ChangeResult result = question.Apply(AddNodes{.count = 2, .like = "a", .file = ""});
  EXPECT_THAT(result.nodes, ElementsAre("a-new-1", "a-new-2"));
  EXPECT_EQ(result.daemon_pods, 2u);
  const Texts outcomes = question.Outcomes();
  ASSERT_THAT(outcomes, SizeIs(3));
  EXPECT_EQ(outcomes[0], "plain waits") << "the taint is copied";
  EXPECT_THAT(outcomes[1], HasSubstr("small on a-new-"));
  EXPECT_EQ(outcomes[2], "web waits") << "the DaemonSet pod takes a CPU";
  EXPECT_EQ(question.scenario().nodes(), 3u);
}

TEST(Scenario, AnAddedNodeHasNotTheImagesOfItsModel) {
  // Node b has more room; only the image could make the copy of a better.
  Question question(
      "---\n{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: \"4\", memory: 64Gi, pods: "
      "\"110\"}, "
      "images: [{names: [\"i:latest\"], sizeBytes: 3000000000}]}}\n" +
      NodeText("b", 8) + PodText("full", 4, "a"));
  question.Apply(AddNodes{.count = 1, .like = "a", .file = ""});
  const TemporaryFile web(PodText("web", 1));
  question.Apply(AddPods{.file = web.path(), .replicas = std::nullopt});
  EXPECT_EQ(question.Outcomes(), Texts{"web on b"});
}

TEST(Scenario, ARemovedNodeLosesItsPodsAndControllersReplaceTheirs) {
  Question question(NodeText("a", 4) + NodeText("b", 4) +
                    PodText("web-x", 1, "a", OwnedBy("ReplicaSet", "web")) +
                    PodText("db-0", 1, "a", OwnedBy("StatefulSet", "db")) + PodText("single", 1, "a") +
                    PodText("agent-x", 1, "a", OwnedBy("DaemonSet", "agent")));
  const ChangeResult result = question.Apply(RemoveNode{"a"});
  EXPECT_EQ(result.removed, 4u);
  EXPECT_EQ(question.Outcomes(), (Texts{"db-0 on b", "web-0 on b"}));
  EXPECT_EQ(question.scenario().followed()[0].from, "a");
  ASSERT_THAT(question.scenario().lost(), SizeIs(1));
  EXPECT_EQ(question.scenario().lost()[0].pod, "shop/single");
  EXPECT_EQ(question.scenario().lost()[0].why, "its node is gone; no controller replaces it");
}

TEST(Scenario, ACordonedNodeKeepsItsPodsAndReceivesNoOthers) {
  const std::string dump = NodeText("a", 4) + PodText("runs", 1, "a");
  const TemporaryFile file(PodText("web", 1));
  Question question(dump);
  question.Apply(Cordon{"a", true});
  question.Apply(AddPods{file.path(), std::nullopt});
  EXPECT_EQ(question.Outcomes(), Texts{"web waits"});
  question.Apply(Cordon{"a", false});
  EXPECT_EQ(question.Outcomes(), Texts{"web on a"});
}

TEST(Scenario, ADrainEvictsAsKubectlDoesIt) {
  Question question(NodeText("a", 8) + NodeText("b", 2) +
                    PodText("web-x", 1, "a", OwnedBy("ReplicaSet", "web")) +
                    PodText("web-y", 1, "a", OwnedBy("ReplicaSet", "web")) +
                    PodText("web-z", 1, "a", OwnedBy("ReplicaSet", "web")) + PodText("single", 1, "a") +
                    PodText("agent-x", 1, "a", OwnedBy("DaemonSet", "agent")) +
                    PodText("static", 1, "a", ", annotations: {kubernetes.io/config.mirror: x}"));
  const ChangeResult result = question.Apply(Drain{"a"});
  EXPECT_EQ(result.removed, 4u);
  ASSERT_THAT(result.stays, SizeIs(2));
  EXPECT_EQ(result.stays[0].pod + " " + result.stays[0].why, "shop/agent-x DaemonSet");
  EXPECT_EQ(result.stays[1].pod + " " + result.stays[1].why, "shop/static static pod");
  EXPECT_EQ(question.Outcomes(), (Texts{"web-0 on b", "web-1 on b", "web-2 waits"})) << "a is cordoned";
  ASSERT_THAT(question.scenario().lost(), SizeIs(1));
  EXPECT_EQ(question.scenario().lost()[0].why, "deleted; no controller replaces it");
}

struct BudgetCase {
  const char* name;
  int allowed;
  int room;  // CPUs of the other node
  std::size_t evicted, blocked;
};
class DrainBudgetTest : public ::testing::TestWithParam<BudgetCase> {};
TEST_P(DrainBudgetTest, AllowsAnEvictionForEachDisruptionAndForEachReplacementThatRuns) {
  const BudgetCase& c = GetParam();
  std::string dump = NodeText("a", 8) + NodeText("b", c.room) + BudgetText("web", c.allowed);
  for (const char* name : {"web-x", "web-y", "web-z"})
    dump += PodText(name, 1, "a", OwnedBy("ReplicaSet", "web"));
  Question question(dump);
  const ChangeResult result = question.Apply(Drain{"a"});
  EXPECT_EQ(result.removed, c.evicted);
  ASSERT_THAT(result.blocked, SizeIs(c.blocked));
  if (c.blocked > 0) {
    EXPECT_EQ(result.blocked[0].budget, "shop/web-budget");
    EXPECT_EQ(result.blocked[0].why, "PodDisruptionBudget shop/web-budget allows 0 disruptions; it needs 1");
  }
}
INSTANTIATE_TEST_SUITE_P(
    Budgets, DrainBudgetTest,
    ::testing::Values(BudgetCase{"nothing is allowed", 0, 8, 0, 3},
                      BudgetCase{"one is allowed, and its replacement runs each time", 1, 8, 3, 0},
                      BudgetCase{"one is allowed, and there is room for one replacement", 1, 1, 2, 1},
                      BudgetCase{"two are allowed without any room", 2, 0, 2, 1}),
    [](const auto& info) { return std::to_string(info.index); });

TEST(Scenario, APodWithTwoBudgetsIsNotEvicted) {
  Question question(
      NodeText("a", 8) + BudgetText("web", 5) +
      "---\n{kind: PodDisruptionBudget, metadata: {name: all, namespace: shop}, spec: {selector: {}}, "
      "status: {disruptionsAllowed: 5}}\n" +
      PodText("web-x", 1, "a", OwnedBy("ReplicaSet", "web")));
  const ChangeResult result = question.Apply(Drain{"a"});
  ASSERT_THAT(result.blocked, SizeIs(1));
  EXPECT_THAT(result.blocked[0].why, HasSubstr("more than one PodDisruptionBudget"));
}

TEST(Scenario, ATaintWithNoExecuteEvictsThePodsThatDoNotTolerateIt) {
  Question question(NodeText("a", 8) + NodeText("b", 8) +
                    PodText("web-x", 1, "a", OwnedBy("ReplicaSet", "web")) +
                    PodText("stays", 1, "a", "", ", tolerations: [{operator: Exists}]"));
  const ChangeResult result = question.Apply(ParseTaint("a:broken:NoExecute").value());
  EXPECT_EQ(result.removed, 1u);
  EXPECT_EQ(question.Outcomes(), Texts{"web-0 on b"});
}

TEST(Scenario, ADaemonSetHasNoPodOnANodeWhoseTaintItDoesNotTolerate) {
  Question question(NodeText("a", 8) + NodeText("b", 8) +
                    PodText("agent-x", 1, "a", OwnedBy("DaemonSet", "agent")));
  const ChangeResult result = question.Apply(ParseTaint("a:broken:NoExecute").value());
  EXPECT_EQ(result.removed, 1u);
  EXPECT_THAT(question.Outcomes(), IsEmpty());
  EXPECT_THAT(question.scenario().lost(), IsEmpty());
}

// web-y is the replacement of web-x, which is being deleted.
TEST(Scenario, APodThatIsBeingDeletedIsNotReplacedAgainAndNeedsNoBudget) {
  const auto deleting = [](const std::string& controller, const std::string& name) {
    return ", deletionTimestamp: \"2026-01-01T00:00:00Z\"" + OwnedBy(controller, name);
  };
  const std::string dump = NodeText("a", 8) + NodeText("b", 8) + BudgetText("web", 0) +
                           PodText("web-x", 1, "a", deleting("ReplicaSet", "web")) +
                           PodText("web-y", 1, "b", OwnedBy("ReplicaSet", "web")) +
                           PodText("db-0", 1, "a", deleting("StatefulSet", "db"));
  Question drained(dump);
  const ChangeResult result = drained.Apply(Drain{"a"});
  EXPECT_EQ(result.removed, 2u);
  EXPECT_THAT(result.blocked, IsEmpty());
  EXPECT_EQ(drained.Outcomes(), Texts{"db-0 on b"}) << "a StatefulSet waits for the name";
  Question removed(dump);
  removed.Apply(RemoveNode{"a"});
  EXPECT_EQ(removed.Outcomes(), Texts{"db-0 on b"});
  EXPECT_THAT(removed.scenario().lost(), IsEmpty());
  Question changed(dump);
  EXPECT_EQ(changed.Apply(ParseRequests("rs/web:cpu=2").value()).removed, 1u);
}

// Nodes a and b publish one GPU each.
std::string ClaimsText(const std::string& claims) {
  std::string text =
      "---\n{kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: \"device.driver "
      "== "
      "'d'\"}}]}}\n";
  for (const char* node : {"a", "b"}) {
    text += fmt::format(
        "---\n{{kind: ResourceSlice, metadata: {{name: {0}-d}}, spec: {{driver: d, nodeName: {0}, pool: "
        "{{name: {0}, "
        "resourceSliceCount: 1}}, devices: [{{name: g0}}]}}}}\n",
        node);
  }
  return text + claims;
}
std::string ClaimText(const std::string& name, const std::string& status = "",
                      const std::string& metadata = "") {
  return "---\n{kind: ResourceClaim, metadata: {name: " + name + ", namespace: shop, uid: c-" + name +
         metadata + "}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}" + status +
         "}\n";
}
std::string AllocatedTo(const std::string& pod, const std::string& node) {
  return ", status: {allocation: {devices: {results: [{request: r, driver: d, pool: " + node +
         ", device: g0}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: "
         "In, values: "
         "[" +
         node + "]}]}]}}, reservedFor: [{resource: pods, name: " + pod + ", uid: u-" + pod + "}]}";
}
std::string Uses(const std::string& claim) {
  return ", resourceClaims: [{name: r, resourceClaimName: " + claim + "}]";
}

TEST(Scenario, APodThatIsGoneLeavesItsDevicesToOthers) {
  const std::string dump =
      NodeText("a", 8) + NodeText("b", 8, ", spec: {unschedulable: true}") +
      ClaimsText(ClaimText("used", AllocatedTo("old", "a")) + ClaimText("wanted")) +
      PodText("old", 1, "a", ", uid: u-old" + OwnedBy("ReplicaSet", "web"), Uses("used")) +
      PodText("waits", 1, "", "", Uses("wanted"));
  Question question(dump);
  EXPECT_EQ(question.Outcomes(), Texts{"waits waits"});
  question.Apply(DeletePods{Pods("rs/web")});
  EXPECT_EQ(question.Outcomes(), Texts{"waits on a"});
  // The claim of the drained pod is free of its node.
  Question drained(NodeText("a", 8) + NodeText("b", 8) +
                   ClaimsText(ClaimText("used", AllocatedTo("old", "a"))) +
                   PodText("old", 1, "a", ", uid: u-old" + OwnedBy("ReplicaSet", "web"), Uses("used")));
  drained.Apply(Drain{"a"});
  EXPECT_EQ(drained.Outcomes(), Texts{"web-0 on b"});
}

TEST(Scenario, CopiesOfANodePublishDevicesOfTheirOwn) {
  Question question(
      NodeText("a", 8) + ClaimsText(ClaimText("used", AllocatedTo("old", "a")) + ClaimText("wanted")) +
      PodText("old", 1, "a", ", uid: u-old", Uses("used")) + PodText("waits", 1, "", "", Uses("wanted")));
  EXPECT_EQ(question.Outcomes(), Texts{"waits waits"});
  question.Apply(AddNodes{.count = 1, .like = "a", .file = ""});
  EXPECT_EQ(question.Outcomes(), Texts{"waits on a-new-1"});
  question.Apply(RemoveNode{"a-new-1"});
  std::size_t slices = 0;
  for (const auto& object : question.scenario().Contents().others)
    slices += std::holds_alternative<ports::Change<api::ResourceSlice>>(object);
  EXPECT_EQ(slices, 2u) << "those of a and b";
}

TEST(Scenario, TheDaemonSetPodsOfNewNodesCount) {
  std::string dump = NodeText("a", 64);
  for (int i = 0; i < 11; ++i)
    dump += PodText(fmt::format("agent{}-x", i), 1, "a", OwnedBy("DaemonSet", fmt::format("agent{}", i)));
  Question question(dump);
  EXPECT_THAT(question.ErrorOf(AddNodes{.count = 99'000, .like = "a", .file = ""}),
              HasSubstr("expected at most 1000000 pods, got 1089011 with those of DaemonSets"));
}

TEST(Scenario, LabelsDecideAboutPods) {
  Question question(NodeText("a", 8) + PodText("web", 1, "", "", ", nodeSelector: {disk: ssd}"));
  EXPECT_EQ(question.Outcomes(), Texts{"web waits"});
  question.Apply(ParseLabel("a:disk=ssd").value());
  EXPECT_EQ(question.Outcomes(), Texts{"web on a"});
}

TEST(Scenario, APodOfHigherPriorityPreemptsAndTheVictimIsReplaced) {
  Question question(NodeText("a", 2) + PodText("low-x", 2, "a", OwnedBy("ReplicaSet", "low")));
  const TemporaryFile file(PodText("high", 2, "", "", ", priority: 100"));
  question.Apply(AddPods{file.path(), std::nullopt});
  EXPECT_EQ(question.Outcomes(), (Texts{"high on a", "low-0 waits"}));
  ASSERT_THAT(question.scenario().preempted(), SizeIs(1));
  EXPECT_EQ(question.scenario().preempted()[0].pod, "shop/low-x");
  EXPECT_EQ(question.scenario().preempted()[0].priority, 0);
  EXPECT_EQ(question.scenario().preempted()[0].by, "shop/high");
  EXPECT_EQ(question.scenario().preempted()[0].by_priority, 100);
}

std::string QuotaText(const std::string& ns, int min_cpus, int max_cpus) {
  return fmt::format(
      "---\n{{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota, metadata: {{name: q, namespace: "
      "{}}}, spec: {{min: {{cpu: {}}}, max: {{cpu: {}}}}}}}\n",
      ns, min_cpus, max_cpus);
}

TEST(Scenario, APodWithinTheMinimumOfItsQuotaPreemptsABorrower) {
  config::ParseOptions options;
  const auto plugins = assembly::InTreePlugins();
  options.codecs = &plugins.codecs();
  const auto config = config::ParseSchedulerConfig(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
      "- plugins:\n    multiPoint: {enabled: [{name: CapacityScheduling}]}\n"
      "    postFilter: {enabled: [{name: CapacityScheduling}], disabled: [{name: '*'}]}\n",
      options);
  ASSERT_TRUE(config) << config.error().message;
  const std::string dump = NodeText("a", 8) + QuotaText("shop", 4, 8) + QuotaText("other", 4, 8) +
                           PodText("borrower", 3, "a") + PodText("second", 3, "a");
  const TemporaryFile file(
      "{apiVersion: v1, kind: Pod, metadata: {name: mine, namespace: other}, spec: {containers: [{name: c, "
      "image: i, resources: {requests: {cpu: 3}}}]}}");
  Question question(dump, *config);
  question.Apply(AddPods{file.path(), std::nullopt});
  EXPECT_EQ(question.Outcomes(), (Texts{"mine on a"}));
  EXPECT_THAT(question.scenario().lost(), SizeIs(1));
  Question plain(dump);
  plain.Apply(AddPods{file.path(), std::nullopt});
  EXPECT_EQ(plain.Outcomes(), (Texts{"mine waits"}));
}

TEST(Scenario, TheReplicasOfADeploymentAreSpreadByItsConstraints) {
  const TemporaryFile file(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
)");
  Question question(NodeText("a", 8) + NodeText("b", 1));
  const ChangeResult result = question.Apply(AddPods{file.path(), 4});
  EXPECT_EQ(result.added, 4u);
  std::size_t waiting = question.scenario().Waiting().size();
  EXPECT_EQ(waiting, 1u) << "two on a, one on b, and no more room there";
  EXPECT_EQ(question.scenario().followed()[0].owner, "Deployment shop/web");
}

TEST(Scenario, DeletedPodsMakeRoom) {
  const std::string dump = NodeText("a", 2) + PodText("web-x", 1, "a", OwnedBy("ReplicaSet", "web")) +
                           PodText("web-y", 1, "a", OwnedBy("ReplicaSet", "web")) + PodText("large", 2);
  Question one(dump);
  one.Apply(DeletePods{Pods("web-x")});
  EXPECT_EQ(one.Outcomes(), (Texts{"large waits", "web-0 on a"})) << "the controller replaces a single pod";
  Question all(dump);
  EXPECT_EQ(all.Apply(DeletePods{Pods("rs/web")}).removed, 2u);
  EXPECT_EQ(all.Outcomes(), Texts{"large on a"}) << "the controller is deleted with its pods";
}

TEST(Scenario, ChangedRequestsAndPrioritiesReplacePods) {
  Question question(NodeText("a", 4) + PodText("web-x", 1, "a", OwnedBy("ReplicaSet", "web")) +
                    PodText("web-y", 1, "a", OwnedBy("ReplicaSet", "web")));
  EXPECT_EQ(question.Apply(ParseRequests("rs/web:cpu=3").value()).removed, 2u);
  EXPECT_EQ(question.Outcomes(), (Texts{"web-x on a", "web-y waits"}));
  question.Apply(ParsePriority("web-y:10").value());
  EXPECT_THAT(question.scenario().preempted(), SizeIs(1));
}

TEST(Scenario, ErrorsNameTheNearestObject) {
  struct Case {
    const char* name;
    Change change;
    const char* want;
  };
  const Case cases[] = {
      {"an unknown node", Drain{"wroker-1"},
       "drain wroker-1: there is no node wroker-1; the nearest name is worker-1"},
      {"an unknown pod", DeletePods{Pods("wbe")}, "there is no pod shop/wbe; the nearest name is shop/web"},
      {"an unknown controller", DeletePods{Pods("deploy/web")}, "Deployment shop/web has no pods"},
      {"an unknown label", ParseLabel("worker-1:kubernetes.io/hostnam-").value(),
       "the nearest one is kubernetes.io/hostname"},
      {"an unknown taint", ParseTaint("worker-1:gpu:NoSchedule-").value(), "has no taint gpu:NoSchedule"},
      {"a label that is not valid", ParseLabel("worker-1:a b=c").value(), "label key \"a b\""},
      {"too many nodes", AddNodes{.count = 100'000, .like = "worker-1", .file = ""},
       "at most 100000 nodes, got 100001"},
      {"a file that does not exist", AddPods{"/does/not/exist.yaml", std::nullopt}, "no such file"},
  };
  for (const Case& c : cases) {
    Question question(NodeText("worker-1", 4) + PodText("web", 1, "worker-1"));
    EXPECT_THAT(question.ErrorOf(c.change), HasSubstr(c.want)) << c.name;
  }
}

TEST(Scenario, TheSameSeedGivesTheSameAnswer) {
  std::string dump;
  for (int i = 0; i < 20; ++i) dump += NodeText("n" + std::to_string(i), 4);
  const TemporaryFile file(PodText("web", 1));
  const auto answer = [&](std::uint64_t seed) {
    Question question(dump, seed);
    question.Apply(AddPods{file.path(), 10});
    return question.Outcomes();
  };
  EXPECT_EQ(answer(1), answer(1));
  EXPECT_NE(answer(1), answer(2)) << "equal nodes are chosen at random";
}

TEST(Scenario, APodWithTheUidOfAnotherOneIsAPodOfItsOwn) {
  const std::string uid = ", uid: copied";
  Question bound(NodeText("a", 4) + PodText("one", 2, "a", uid) + PodText("two", 2, "a", uid) +
                 PodText("new", 1));
  EXPECT_EQ(bound.Outcomes(), std::vector<std::string>{"new waits"});
  Question pending(NodeText("a", 4) + PodText("one", 2, "", uid) + PodText("two", 2, "", uid));
  EXPECT_EQ(pending.Outcomes(), (std::vector<std::string>{"one on a", "two on a"}));
}

TEST(Changes, AMisspelledResourceIsNotARequestThatNoNodeCanMeet) {
  const auto misspelled = ParseRequests("web:memry=4Gi");
  ASSERT_FALSE(misspelled.has_value());
  EXPECT_THAT(misspelled.error().message, HasSubstr("did you mean memory?"));
  EXPECT_TRUE(ParseRequests("web:example.com/memry=4Gi").has_value());
}

TEST(Changes, FlagsAreParsed) {
  struct Case {
    const char* text;
    std::string (*parse)(const std::string&);
    const char* want;
  };
  const auto label = [](const std::string& text) {
    const auto change = ParseLabel(text);
    return change ? TextOf(*change) : change.error().message;
  };
  const auto taint = [](const std::string& text) {
    const auto change = ParseTaint(text);
    return change ? TextOf(*change) : change.error().message;
  };
  const auto requests = [](const std::string& text) {
    const auto change = ParseRequests(text);
    return change ? TextOf(*change) : change.error().message;
  };
  const auto priority = [](const std::string& text) {
    const auto change = ParsePriority(text);
    return change ? TextOf(*change) : change.error().message;
  };
  const auto pods = [](const std::string& text) {
    const auto change = ParsePods(text);
    return change ? change->ns + "|" + change->owner + "|" + change->name : change.error().message;
  };
  const Case cases[] = {
      {"n:disk=ssd", label, "label n disk=ssd"},
      {"n:disk=", label, "label n disk="},
      {"n:disk-", label, "remove label disk of n"},
      {"n:disk", label, "n:disk: expected NODE:key=value, or NODE:key- to remove a label"},
      {"disk=ssd", label, "disk=ssd: expected NODE:key=value"},
      {"n:gpu=a100:NoSchedule", taint, "taint gpu=a100:NoSchedule on n"},
      {"n:gpu:NoExecute", taint, "taint gpu:NoExecute on n"},
      {"n:gpu-", taint, "remove taint gpu of n"},
      {"n:gpu:NoSchedule-", taint, "remove taint gpu:NoSchedule of n"},
      {"n:gpu=a100", taint, "n:gpu=a100: expected NODE:key=value:Effect"},
      {"n:gpu:NoSchedul", taint, "did you mean NoSchedule?"},
      {"web:cpu=2,memory=4Gi", requests, "set requests of web to cpu=2,memory=4Gi"},
      {"web:nvidia.com/gpu=1,hugepages-2Mi=4Mi", requests, "to hugepages-2Mi=4Mi,nvidia.com/gpu=1"},
      {"web:cpu=1,memry=4Gi", requests, "\"memry=4Gi\": resource \"memry\": expected cpu, memory,"},
      {"web:memry=4Gi", requests, "did you mean memory?"},
      {"web:pods=1", requests, "resource \"pods\": expected cpu"},
      {"web:cpu", requests, "\"cpu\": expected resource=quantity"},
      {"web:cpu=-1", requests, "\"cpu=-1\": expected a quantity that is not negative"},
      {"web:cpu=two", requests, "expected a quantity"},
      {"shop/deploy/web:5", priority, "set priority of shop/deploy/web to 5"},
      {"web:high", priority, "expected PODS:PRIORITY"},
      {"web", pods, "||web"},
      {"shop/web", pods, "shop||web"},
      {"pod/web", pods, "||web"},
      {"shop/pod/web", pods, "shop||web"},
      {"Deploy/web", pods, "|Deployment|web"},
      {"shop/sts/db", pods, "shop|StatefulSet|db"},
      {"shop/deplyment/web", pods, "did you mean deployment?"},
      {"a//b", pods, "expected [NAMESPACE/]KIND/NAME"},
  };
  for (const Case& c : cases) EXPECT_THAT(c.parse(c.text), HasSubstr(c.want)) << c.text;
}

}  // namespace
}  // namespace berth::what_if
