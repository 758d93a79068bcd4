#include "tools/what_if/nodes_needed.hpp"

#include <gmock/gmock.h>

#include "tools/what_if/changes_file.hpp"
#include "tools/what_if/fake_question.hpp"
#include "tools/what_if/what_if.hpp"

namespace berth::what_if {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Answers the question about a dump; counts the evaluations.
class NodesNeeded {
 public:
  explicit NodesNeeded(const std::string& dump)
      : objects_(api::RetainedFields{}),
        plugins_(assembly::InTreePlugins()),
        config_(config::DefaultSchedulerConfig({}, &plugins_.codecs())) {
    std::vector<std::string> problems;
    EXPECT_TRUE(objects_.Load(dump, "dump", problems).has_value());
  }
  NodeMix Of(const std::vector<NodeShape>& shapes) {
    evaluations = 0;
    const MakeScenario make = [this] {
      ++evaluations;
      std::vector<std::string> notes;
      return Scenario::Build({objects_, config_, plugins_, "shop", 1, files_, stop_}, notes);
    };
    auto mix = FindNodesNeeded(make, shapes, [](const std::string&) {});
    EXPECT_TRUE(mix.has_value()) << (mix ? "" : mix.error().message);
    return mix ? *std::move(mix) : NodeMix();
  }
  std::size_t evaluations = 0;

 private:
  FileTexts files_;
  std::atomic<bool> stop_{false};
  assembly::LoadedCluster objects_;
  const runtime::Registry plugins_;
  const config::SchedulerConfig config_;
};

NodeShape Like(const std::string& node, double price = 0) {
  return {.name = node, .like = node, .file = "", .price = price};
}
std::string Parts(const NodeMix& mix) {
  std::string text;
  for (const NodeMix::Part& part : mix.parts)
    text += (text.empty() ? "" : ", ") + std::to_string(part.count) + " " + part.shape;
  return text;
}
std::string PendingPods(int pods, int cpus) {
  std::string text;
  for (int i = 0; i < pods; ++i) text += PodText("w" + std::to_string(cpus) + "-" + std::to_string(i), cpus);
  return text;
}
// No room on it for other pods.
std::string Full(const std::string& name, int cpus) {
  return NodeText(name, cpus) + PodText("full-" + name, cpus, name);
}

TEST(NodesNeeded, FindsTheSmallestNumberOfOneShape) {
  struct Case {
    const char* name;
    std::string pods;
    const char* want;
    std::size_t placed, waiting;
  };
  const Case cases[] = {
      {"no pod waits", "", "", 0, 0},
      {"two pods on each node", PendingPods(7, 2), "4 a", 7, 0},
      {"pods of three CPUs leave one unused", PendingPods(5, 3), "5 a", 5, 0},
      {"some pods are too large", PendingPods(3, 2) + PendingPods(2, 9), "2 a", 3, 2},
      {"no pod fits", PendingPods(2, 9), "", 0, 2},
      {"pods that exclude each other need a node each",
       PodText(
           "x1", 1, "", ", labels: {app: x}",
           ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
           "kubernetes.io/hostname, labelSelector: {matchLabels: {app: x}}}]}}") +
           PodText("x2", 1, "", ", labels: {app: x}",
                   ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                   "[{topologyKey: "
                   "kubernetes.io/hostname, labelSelector: {matchLabels: {app: x}}}]}}"),
       "2 a", 2, 0},
  };
  for (const Case& c : cases) {
    NodesNeeded question(Full("a", 4) + c.pods);
    const NodeMix mix = question.Of({Like("a")});
    EXPECT_EQ(Parts(mix), c.want) << c.name;
    EXPECT_EQ(mix.placed, c.placed) << c.name;
    EXPECT_EQ(mix.waiting, c.waiting) << c.name;
    EXPECT_LE(question.evaluations, 20u) << c.name;
  }
}

TEST(NodesNeeded, DaemonSetPodsOfTheModelTakeRoomOnNewNodes) {
  NodesNeeded question(NodeText("a", 4) + PodText("agent-x", 2, "a", OwnedBy("DaemonSet", "agent")) +
                       PodText("full", 2, "a") + PendingPods(2, 2));
  EXPECT_EQ(Parts(question.Of({Like("a")})), "2 a");
}

TEST(NodesNeeded, FindsACheapMix) {
  struct Case {
    const char* name;
    std::string pods;
    double small, large;  // prices
    const char* want;
  };
  const Case cases[] = {
      {"large nodes are cheaper for each CPU, a small one suffices for the rest", PendingPods(5, 2), 2, 3,
       "1 small, 1 large"},
      {"small nodes are cheaper", PendingPods(4, 2), 1, 9, "4 small"},
      {"only large nodes have room for large pods", PendingPods(1, 7) + PendingPods(1, 2), 1, 9,
       "1 small, 1 large"},
  };
  for (const Case& c : cases) {
    NodesNeeded question(Full("small", 2) + Full("large", 8) + c.pods);
    const NodeMix mix = question.Of({Like("small", c.small), Like("large", c.large)});
    EXPECT_EQ(Parts(mix), c.want) << c.name;
    EXPECT_EQ(mix.waiting, 0u) << c.name;
  }
}

TEST(NodesNeeded, AKindOfNodesWithoutAPriceIsNotMixedWithPricedOnes) {
  WhatIfOptions options;
  options.shapes = {Like("large")};
  options.prices = "prices.yaml";
  const auto code = RunWhatIf(options, assembly::InTreePlugins());
  ASSERT_FALSE(code.has_value());
  EXPECT_THAT(code.error().message, HasSubstr("--prices: large has no price; expected either"));
}

TEST(Prices, ErrorsNameFieldAndExpectation) {
  struct Case {
    const char* text;
    const char* want;
  };
  const Case cases[] = {
      {"{}", "shapes: required"},
      {"shapes: [{name: a, like: n}]", "shapes[0].price: required"},
      {"shapes: [{like: node-1, price: 1}]", "shapes[0].name: required"},
      {"shapes: [{name: a, price: 1}]", "shapes[0]: expected exactly one of like"},
      {"shapes: [{name: a, like: node-1, price: -1}]", "shapes[0].price: expected a number from 0"},
      {"shapes: [{name: a, like: node-1, prize: 1, price: 1}]", "did you mean \"price\"?"},
  };
  for (const Case& c : cases) {
    const TemporaryFile file(c.text, "prices.yaml");
    const auto shapes = ReadPrices(file.path());
    ASSERT_FALSE(shapes.has_value()) << c.text;
    EXPECT_THAT(shapes.error().message, HasSubstr(c.want)) << c.text;
  }
  const TemporaryFile file("shapes: [{name: a, like: node-1, price: 1.5}]", "prices.yaml");
  ASSERT_THAT(ReadPrices(file.path()).value(), SizeIs(1));
}

TEST(ChangesFile, HasTheChangesInTheirOrder) {
  const auto changes = ParseChanges(R"(
apiVersion: whatif.berth.dev/v1alpha1
kind: Changes
changes:
- addNodes: {count: 2, like: a}
- addNodes: {file: node.yaml}
- removeNode: b
- cordon: c
- uncordon: c
- drain: d
- labelNode: a:disk=ssd
- taintNode: a:gpu:NoSchedule
- addPods: {file: web.yaml, replicas: 3}
- deletePods: shop/deployment/web
- setRequests: shop/web:cpu=2
- setPriority: shop/web:5
)",
                                    "folder");
  ASSERT_TRUE(changes.has_value()) << changes.error().message;
  std::string text;
  for (const Change& change : *changes) text += TextOf(change) + "\n";
  EXPECT_EQ(text,
            "add 2 nodes like a\n"
            "add 1 node like that of folder/node.yaml\n"
            "remove node b\n"
            "cordon c\n"
            "uncordon c\n"
            "drain d\n"
            "label a disk=ssd\n"
            "taint gpu:NoSchedule on a\n"
            "add the pods of folder/web.yaml, 3 replicas\n"
            "delete shop/deployment/web\n"
            "set requests of shop/web to cpu=2\n"
            "set priority of shop/web to 5\n");
}

TEST(ChangesFile, ErrorsNamePathValueAndExpectation) {
  struct Case {
    const char* changes;
    const char* want;
  };
  const Case cases[] = {
      {"[{drian: a}]", "changes[0].drian: unknown change; expected one of addNodes"},
      {"[{drian: a}]", "did you mean drain?"},
      {"[drain]", "changes[0]: expected an object with one of addNodes"},
      {"[{drain: a, cordon: b}]", "changes[0]: expected an object with one of"},
      {"[{drain: }]", "changes[0].drain: expected the name of a node, got none"},
      {"[{drain: 5}]", "changes[0].drain: expected the name of a node, got \"5\""},
      {"[{addNodes: {count: 0, like: a}}]", "changes[0].addNodes.count: expected a whole number from 1"},
      {"[{addNodes: {count: 1}}]", "changes[0].addNodes: expected exactly one of like"},
      {"[{addPods: {replicas: 1}}]", "changes[0].addPods.file: required"},
      {"[{addPods: {file: f, replica: 1}}]", "did you mean \"replicas\"?"},
      {"[{labelNode: a}]", "changes[0].labelNode: a: expected NODE:key=value"},
  };
  for (const Case& c : cases) {
    const auto changes = ParseChanges(
        "{apiVersion: whatif.berth.dev/v1alpha1, kind: Changes, changes: " + std::string(c.changes) + "}",
        "");
    ASSERT_FALSE(changes.has_value()) << c.changes;
    EXPECT_THAT(changes.error().message, HasSubstr(c.want)) << c.changes;
  }
  EXPECT_THAT(ParseChanges("{kind: Change}", "").error().message,
              HasSubstr("apiVersion: expected whatif.berth.dev/v1alpha1"));
}

}  // namespace
}  // namespace berth::what_if
