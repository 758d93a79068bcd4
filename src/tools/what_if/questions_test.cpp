#include "tools/what_if/questions.hpp"

#include <gmock/gmock.h>

#include "base/files.hpp"
#include "base/yaml.hpp"
#include "tools/what_if/changes_file.hpp"
#include "tools/what_if/fake_question.hpp"
#include "tools/what_if/report.hpp"

namespace berth::what_if {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

HowMany Ask(Question& question, const std::string& manifest) {
  const TemporaryFile file(manifest);
  auto answer = AskHowMany(question.scenario(), file.path(), {}, {});
  EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().message);
  return answer ? *std::move(answer) : HowMany{.pod = ""};
}

TEST(HowMany, CountsTheReplicasThatFitAndExplainsTheNextOne) {
  Question question(NodeText("a", 4) + NodeText("b", 3) + PodText("runs", 1, "a"));
  const HowMany answer = Ask(question, PodText("web", 2));
  EXPECT_EQ(answer.fits, 2u);
  EXPECT_EQ(answer.nodes, (std::map<std::string, std::size_t>{{"a", 1}, {"b", 1}}));
  ASSERT_THAT(answer.next.groups, SizeIs(1));
  EXPECT_THAT(answer.next.groups[0].body, AllOf(HasSubstr("Insufficient cpu"), HasSubstr("what would help")));
}

TEST(HowMany, CountsMoreThanOneBatch) {
  std::string dump;
  for (int i = 0; i < 30; ++i) dump += NodeText("n" + std::to_string(i), 110);
  Question question(dump);
  EXPECT_EQ(Ask(question, PodText("web", 1)).fits, 30u * 110u);
}

TEST(HowMany, PreemptsNoPods) {
  Question question(NodeText("a", 2) + PodText("low", 1, "a"));
  const HowMany answer = Ask(question, PodText("high", 1, "", "", ", priority: 1000"));
  EXPECT_EQ(answer.fits, 1u);
  EXPECT_THAT(question.scenario().preempted(), IsEmpty());
}

TEST(Waiting, APodWhoseVolumeCannotBeCreatedNamesTheProblem) {
  Question question(
      NodeText("a", 4) +
      "---\n{kind: StorageClass, metadata: {name: slow}, provisioner: example.com/disk, "
      "volumeBindingMode: WaitForFirstConsumer}\n"
      "---\n{kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}, spec: "
      "{storageClassName: slow, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n" +
      PodText("db", 1, "", "", ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"));
  EXPECT_EQ(question.Outcomes(), std::vector<std::string>{"db waits"});
  const Waiting waiting = ExplainWaiting(question.scenario(), question.scenario().Waiting(), {});
  ASSERT_THAT(waiting.groups, SizeIs(1));
  EXPECT_THAT(waiting.groups[0].body,
              AllOf(HasSubstr("waits nevertheless: "), HasSubstr("volumes are not simulated")));
}

// The files of docs/guide/what-if.md.
TEST(Examples, CanBeRead) {
  const std::string folder = std::string(BERTH_EXAMPLES) + "/what-if/";
  const auto changes = ReadChanges(folder + "changes.yaml");
  ASSERT_TRUE(changes.has_value()) << changes.error().message;
  const auto prices = ReadPrices(folder + "prices.yaml");
  ASSERT_TRUE(prices.has_value()) << prices.error().message;
  Question question(ReadWholeFile(folder + "cluster.yaml").value());
  for (const Change& change : *changes) question.Apply(change);
  EXPECT_EQ(question.scenario().nodes(), 5u);
  for (const NodeShape& shape : *prices)
    EXPECT_TRUE(question.scenario().FindNode(shape.like).has_value()) << shape.name;
}

TEST(HowMany, UsesTheTemplateOfAWorkload) {
  Question question(NodeText("a", 4));
  const HowMany answer = Ask(question, R"(
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop},
 spec: {replicas: 1, selector: {matchLabels: {app: web}},
        template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}],
          affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
            {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}}}}}
)");
  EXPECT_EQ(answer.pod, "Deployment shop/web");
  EXPECT_EQ(answer.fits, 1u) << "the replicas exclude each other";
}

TEST(Manifest, ErrorsNameFieldValueAndExpectation) {
  struct Case {
    const char* name;
    std::string text;
    const char* want;
  };
  const std::string pod_template = "template: {spec: {containers: [{name: c, image: i}]}}";
  const Case cases[] = {
      {"a DaemonSet", "{kind: DaemonSet, metadata: {name: agent}}", "a DaemonSet has one pod per node"},
      {"an unknown kind", "{kind: Deploymnt, metadata: {name: web}}", "did you mean Deployment?"},
      {"no pods", "{kind: Namespace, metadata: {name: shop}}", "expected a Pod, a Deployment"},
      {"no name", "{kind: Pod, spec: {containers: [{name: c, image: i}]}}", "metadata.name: Required value"},
      {"no template", "{kind: Deployment, metadata: {name: web}, spec: {}}", "spec.template: Required value"},
      {"a negative number",
       "{kind: Deployment, metadata: {name: web}, spec: {replicas: -1, " + pod_template + "}}",
       "spec.replicas: \"-1\": expected a number from 0"},
      {"a class that does not exist",
       "{kind: Pod, metadata: {name: web}, spec: {priorityClassName: hihg, containers: [{name: c, image: "
       "i}]}}",
       "spec.priorityClassName: \"hihg\": the input has no such PriorityClass; did you mean high?"},
      {"templates of claims",
       "{kind: StatefulSet, metadata: {name: db}, spec: {volumeClaimTemplates: [{}], " + pod_template + "}}",
       "spec.volumeClaimTemplates: claims are not created"},
      {"a wrong field", "{kind: Pod, metadata: {name: web}, spec: {containers: 5}}", "spec.containers"},
  };
  const std::map<std::string, assembly::LoadedCluster::PriorityClass> classes = {{"high", {.value = 1000}}};
  const api::RetainedFields retained;
  for (const Case& c : cases) {
    const auto manifest = ReadManifest(c.text, "f.yaml", {retained, classes, "shop"});
    ASSERT_FALSE(manifest.has_value()) << c.name;
    EXPECT_THAT(manifest.error().message, AllOf(HasSubstr("f.yaml"), HasSubstr(c.want))) << c.name;
  }
}

TEST(Manifest, AJobHasAsManyPodsAsRunAtATime) {
  struct Case {
    const char* spec;
    std::size_t pods;
  };
  const Case cases[] = {
      {"", 1},
      {"parallelism: 10, ", 10},
      {"parallelism: 10, completions: 4, ", 4},
      {"parallelism: 2, completions: 4, ", 2},
      {"completions: 4, ", 1},
      {"parallelism: 10, suspend: true, ", 0},
      {"parallelism: 10, suspend: false, ", 10},
  };
  const std::map<std::string, assembly::LoadedCluster::PriorityClass> classes;
  const api::RetainedFields retained;
  for (const Case& c : cases) {
    const auto manifest = ReadManifest(std::string("{kind: Job, metadata: {name: j}, spec: {") + c.spec +
                                           "template: {spec: {containers: [{name: c, image: i}]}}}}",
                                       "f.yaml", {retained, classes, "shop"});
    ASSERT_TRUE(manifest.has_value()) << manifest.error().message;
    ASSERT_EQ(manifest->pods.size(), 1u);
    EXPECT_EQ(manifest->pods[0].count, c.pods) << c.spec;
  }
}

TEST(FileTexts, AFileIsReadOnce) {
  FileTexts files;
  TemporaryFile file("first");
  EXPECT_EQ(files.Read(file.path()).value(), "first");
  std::ofstream(file.path()) << "second";
  EXPECT_EQ(files.Read(file.path()).value(), "first");
  EXPECT_FALSE(files.Read(file.path() + ".missing").has_value());
}

TEST(Manifest, PodsHaveThePriorityOfTheirClass) {
  struct Case {
    const char* name;
    std::int32_t want;
    bool never_preempts;
  };
  const std::map<std::string, assembly::LoadedCluster::PriorityClass> classes = {
      {"high", {.value = 1000}}, {"usual", {.value = 7, .is_default = true, .never_preempts = true}}};
  const api::RetainedFields retained;
  for (const Case& c :
       {Case{"high", 1000, false}, Case{"", 7, true}, Case{"system-node-critical", 2'000'001'000, false}}) {
    const std::string text = "{kind: Pod, metadata: {name: web}, spec: {priorityClassName: \"" +
                             std::string(c.name) + "\", containers: [{name: c, image: i}]}}";
    const auto manifest = ReadManifest(text, "f.yaml", {retained, classes, "shop"});
    ASSERT_TRUE(manifest.has_value()) << manifest.error().message;
    EXPECT_EQ(manifest->pods.at(0).model.spec.priority, c.want) << c.name;
    EXPECT_EQ(manifest->pods.at(0).model.spec.never_preempts, c.never_preempts) << c.name;
    EXPECT_EQ(manifest->pods.at(0).model.metadata.ns.str(), "shop");
  }
}

Report ReportOf(Question& question, std::vector<ChangeResult> changes) {
  Report report{
      .scenario = question.scenario(), .changes = std::move(changes), .waiting = {}, .left_out = {}};
  report.followed = question.scenario().followed().size();
  report.waiting = ExplainWaiting(question.scenario(), question.scenario().Waiting(), {});
  return report;
}

std::string Drained() {
  return NodeText("a", 8) + NodeText("b", 2) + PodText("web-x", 1, "a", OwnedBy("ReplicaSet", "web")) +
         PodText("web-y", 1, "a", OwnedBy("ReplicaSet", "web")) +
         PodText("web-z", 1, "a", OwnedBy("ReplicaSet", "web")) + PodText("single", 1, "a") +
         PodText("agent-x", 1, "a", OwnedBy("DaemonSet", "agent"));
}

TEST(Waiting, NoAdviceUndoesAChangeOfANode) {
  const struct {
    const char* name;
    std::string node;  // further members of node a, each after a comma
    std::vector<Change> changes;
    std::string pod_spec;
    std::string undone;  // the advice, if nothing was changed
    bool advised;
  } cases[] = {
      {"a drained node stays cordoned", "", {Drain{"a"}}, "", "uncordon node a", false},
      {"a cordoned node stays cordoned", "", {Cordon{"a", true}}, "", "uncordon node a", false},
      {"a node may be uncordoned that was so before",
       ", spec: {unschedulable: true}",
       {},
       "",
       "uncordon node a",
       true},
      {"a drained node stays cordoned that was so before",
       ", spec: {unschedulable: true}",
       {Drain{"a"}},
       "",
       "uncordon node a",
       false},
      {"the last one of several changes counts",
       "",
       {Cordon{"a", false}, Cordon{"a", true}},
       "",
       "uncordon node a",
       false},
      {"changes of other nodes do not count",
       ", spec: {unschedulable: true}",
       {Cordon{"b", true}},
       "",
       "uncordon node a",
       true},
      {"a removed label stays away",
       "",
       {SetLabel{"a", "pool", {}}},
       ", nodeSelector: {pool: x}",
       "label node a with pool=x",
       false},
      {"a label may be set that a node never had",
       "",
       {},
       ", nodeSelector: {disk: x}",
       "label node a with disk=x",
       true},
      {"a taint stays",
       "",
       {SetTaint{"a", {"node.kubernetes.io/not-ready", "", "NoSchedule"}, false}},
       "",
       "repair node a",
       false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Question question("---\n{kind: Node, metadata: {name: a, labels: {kubernetes.io/hostname: a, pool: x}}" +
                      c.node + ", status: {allocatable: {cpu: \"8\", memory: 64Gi, pods: \"110\"}}}\n" +
                      NodeText("b", 1) + PodText("running", 4, "a", OwnedBy("ReplicaSet", "web")));
    for (const Change& change : c.changes) question.Apply(change);
    const TemporaryFile file(PodText("late", 2, "", "", c.pod_spec));
    question.Apply(AddPods{file.path(), std::nullopt});
    const Waiting waiting = ExplainWaiting(question.scenario(), question.scenario().Waiting(), {});
    std::string bodies;
    for (const explain::PodsOfText& group : waiting.groups) bodies += group.body;
    EXPECT_THAT(bodies, Not(IsEmpty()));
    EXPECT_EQ(bodies.contains(c.undone), c.advised) << bodies;
  }
}

TEST(Waiting, AdviceIsAboutAnEqualNodeIfTheNearestOneWasChanged) {
  const std::string cordoned =
      ", spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}";
  Question question(NodeText("a", 4) + NodeText("b", 4, cordoned) + NodeText("c", 4, cordoned) +
                    PodText("w", 1, "a", OwnedBy("ReplicaSet", "w")));
  question.Apply(Drain{"a"});
  question.Apply(Cordon{"b", true});
  const Waiting waiting = ExplainWaiting(question.scenario(), question.scenario().Waiting(), {});
  ASSERT_THAT(waiting.groups, SizeIs(1));
  EXPECT_THAT(waiting.groups[0].body,
              AllOf(HasSubstr("uncordon node c (kubectl uncordon c)"), Not(HasSubstr("uncordon node a")),
                    Not(HasSubstr("uncordon node b"))));
}

TEST(Report, TheTextBeginsWithASummary) {
  Question question(Drained());
  const ChangeResult drained = question.Apply(Drain{"a"});
  const std::string text = ReportText(ReportOf(question, {drained}), {});
  EXPECT_THAT(text, ::testing::StartsWith("2 pods placed, 1 waits, 1 lost on 2 nodes\n"
                                          "drain a: 4 pods removed; 1 pod stays (DaemonSet)\n"
                                          "\nplaced\n"
                                          "  ReplicaSet shop/web: 2 pods from a on b\n"
                                          "\nlost\n"
                                          "  shop/single on a: deleted; no controller replaces it\n"
                                          "\nshop/web-2 (ReplicaSet shop/web) waits: 0 of 2 nodes fit\n"));
}

TEST(Report, TheJsonHasTheSameValues) {
  Question question(Drained());
  const ChangeResult drained = question.Apply(Drain{"a"});
  Report report = ReportOf(question, {drained});
  const TemporaryFile file(PodText("tiny", 0));
  report.how_many = AskHowMany(question.scenario(), file.path(), {}, {}).value();
  const auto json = yaml::ParseValue(ReportJson(report));
  ASSERT_TRUE(json.has_value()) << json.error().message;
  EXPECT_EQ(json->Find("placed")->text, "2");
  EXPECT_EQ(json->Find("waiting")->text, "1") << "replicas of --how-many are not among them";
  EXPECT_EQ(json->Find("fits")->text, "108") << "the number of pods of b is the limit";
  EXPECT_THAT(json->Find("placements")->items, SizeIs(2));
  const yaml::Value& placement = json->Find("placements")->items[0];
  EXPECT_EQ(placement.Find("from")->text, "a");
  EXPECT_EQ(placement.Find("node")->text, "b");
  EXPECT_EQ(placement.Find("origin")->text, "replacement");
  EXPECT_EQ(json->Find("lost")->items.at(0).Find("pod")->text, "shop/single");
  const yaml::Value& change = json->Find("changes")->items.at(0);
  EXPECT_EQ(change.Find("removedPods")->text, "4");
  EXPECT_EQ(change.Find("stays")->items.at(0).Find("reason")->text, "DaemonSet");
  const yaml::Value& waits = json->Find("waits")->items.at(0);
  EXPECT_EQ(waits.Find("count")->text, "1");
  EXPECT_EQ(waits.Find("explanation")->Find("result")->text, "unschedulable");
}

}  // namespace
}  // namespace berth::what_if
