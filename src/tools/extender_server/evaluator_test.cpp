#include "tools/extender_server/evaluator.hpp"

#include <gtest/gtest.h>

#include "scheduler/assembly/explainer.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "tools/extender_server/replies.hpp"

namespace berth::extender_server {
namespace {

constexpr const char* kCluster = R"(
{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
---
{kind: Node, metadata: {name: b}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}}
---
{kind: Node, metadata: {name: closed}, spec: {unschedulable: true}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}}
---
{kind: Pod, metadata: {name: low, namespace: default, uid: u-low}, spec: {nodeName: a, containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}}
---
{kind: Pod, metadata: {name: other, namespace: default, uid: u-other}, spec: {nodeName: b, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}
)";

std::string Pod(const std::string& cpu, const std::string& more = "") {
  return R"("Pod":{"metadata":{"name":"p","namespace":"default","uid":"u-p"},"spec":{)" + more +
         R"("containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":")" + cpu + R"("}}}]}})";
}

class Judging : public testing::Test {
 protected:
  explicit Judging(const std::string& scores = "NodeResourcesFit", bool stretch = false) {
    static const runtime::Registry plugins = assembly::InTreePlugins();
    config::ParseOptions options;
    options.codecs = &plugins.codecs();
    auto config = config::ParseSchedulerConfig(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- schedulerName: default-scheduler\n  plugins: {score: {disabled: [{name: '*'}], enabled: [{name: " +
            scores + ", weight: 3}]}}\n",
        options);
    EXPECT_TRUE(config) << config.error().message;
    std::vector<std::string> notes;
    explainer_ = *assembly::Explainer::Create(*config, plugins, notes);
    EXPECT_TRUE(explainer_->Load(kCluster, "test", notes));
    explainer_->FillCluster();
    evaluator_ = std::make_unique<Evaluator>(explainer_->engine(),
                                             EvaluatorOptions{.profile = "", .stretch = stretch});
  }

  std::string Filter(const std::string& body) {
    const auto request = DecodeNodesRequest(std::make_shared<const std::string>(body), decoder_);
    if (!request) return request.error().message;
    return FilterResponse(*request, evaluator_->Filter(*request, {}));
  }
  std::string Prioritize(const std::string& body) {
    const auto request = DecodeNodesRequest(std::make_shared<const std::string>(body), decoder_);
    if (!request) return request.error().message;
    const auto scores = evaluator_->Prioritize(*request);
    return scores ? PrioritizeResponse(*request, *scores) : scores.error().message;
  }
  std::string Preempt(const std::string& body) {
    const auto request = DecodePreemptRequest(body, decoder_);
    if (!request) return request.error().message;
    const auto kept = evaluator_->Preempt(*request, {});
    return kept ? PreemptResponse(*request, *kept) : kept.error().message;
  }

  api::Decoder decoder_;
  std::unique_ptr<assembly::Explainer> explainer_;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_F(Judging, AFilterResponseHasNamesReasonsAndUnresolvableNodes) {
  EXPECT_EQ(Filter("{" + Pod("2") + R"(,"NodeNames":["b","closed","a","ghost"]})"),
            R"({"Nodes":null,"NodeNames":["b"],"FailedNodes":{"a":"Insufficient cpu"},)"
            R"("FailedAndUnresolvableNodes":{"closed":"node(s) were unschedulable",)"
            R"("ghost":"Berth has not received node ghost yet"},"Error":""})");
}

TEST_F(Judging, AMemberOfAGroupIsEvaluatedLikeAPodOnItsOwn) {
  const std::string nodes = R"(,"NodeNames":["b","a"]})";
  EXPECT_EQ(Filter("{" + Pod("2", R"("schedulingGroup":{"podGroupName":"g"},)") + nodes),
            Filter("{" + Pod("2") + nodes));
}

TEST_F(Judging, WholeNodesAreReturnedUnchanged) {
  EXPECT_EQ(
      Filter(
          "{" + Pod("2") +
          R"(,"nodes":{"items":[ {"metadata":{"x":1,"name":"b"},"odd":[1.0]} ,{"metadata":{"name":"a"}}]}})"),
      R"({"Nodes":{"metadata":{},"items":[{"metadata":{"x":1,"name":"b"},"odd":[1.0]}]},"NodeNames":null,)"
      R"("FailedNodes":{"a":"Insufficient cpu"},"FailedAndUnresolvableNodes":{},"Error":""})");
}

TEST_F(Judging, NodesExcludedByPreFilterAreUnresolvable) {
  const std::string affinity =
      R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["b"]}]}]}}},)";
  EXPECT_EQ(Filter("{" + Pod("1", affinity) + R"(,"NodeNames":["a","b"]})"),
            R"({"Nodes":null,"NodeNames":["b"],"FailedNodes":{},"FailedAndUnresolvableNodes":{"a":)"
            R"("node(s) didn't satisfy plugin(s) [NodeAffinity]"},"Error":""})");
}

TEST_F(Judging, ScoresAreATenthOfTheWeightedMeanAndZeroForUnknownNodes) {
  // LeastAllocated over cpu and memory with equal weight, each out of 100, with the default memory request.
  EXPECT_EQ(Prioritize("{" + Pod("1") + R"(,"NodeNames":["a","ghost","b"]})"),
            R"([{"Host":"a","Score":5},{"Host":"ghost","Score":0},{"Host":"b","Score":9}])");
}

TEST_F(Judging, ANodeIsKeptIfThePodFitsWithoutTheVictims) {
  EXPECT_EQ(Preempt("{" + Pod("4") +
                    R"(,"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u-low"}],"NumPDBViolations":2},)"
                    R"("b":{"Pods":[{"UID":"gone"}]},"closed":{"Pods":[{"UID":"x"}]},)"
                    R"("ghost":{"Pods":[{"UID":"x"}]}}})"),
            R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u-low"}],"NumPDBViolations":2},)"
            R"("b":{"Pods":[{"UID":"gone"}],"NumPDBViolations":0}}})");
  EXPECT_EQ(
      Preempt("{" + Pod("5") + R"(,"NodeNameToVictims":{"a":{"Pods":[{"metadata":{"uid":"u-low"}}]}}})"),
      R"({"NodeNameToMetaVictims":{}})");
  // The dry run has been reverted.
  EXPECT_NE(Filter("{" + Pod("2") + R"(,"NodeNames":["a"]})").find("Insufficient cpu"), std::string::npos);
}

class Stretching : public Judging {
 protected:
  Stretching() : Judging("NodeResourcesFit", true) {}
};
TEST_F(Stretching, TheBestScoresTenAndTheWorstZero) {
  EXPECT_EQ(Prioritize("{" + Pod("1") + R"(,"NodeNames":["a","b"]})"),
            R"([{"Host":"a","Score":0},{"Host":"b","Score":10}])");
  EXPECT_EQ(Prioritize("{" + Pod("1") + R"(,"NodeNames":["a"]})"), R"([{"Host":"a","Score":10}])");
}

TEST_F(Judging, ErrorsContainTheFieldAndItsValue) {
  EXPECT_EQ(Filter(""), "the body is not JSON: EOF");
  EXPECT_EQ(Filter("[]"), "the body: expected an object such as {\"Pod\":{...},\"NodeNames\":[...]}, got []");
  EXPECT_EQ(Filter("{}"), "Pod: expected a pod, got null");
  EXPECT_EQ(Filter(R"({"Pod":{"metadata":{}}})"), "Pod.metadata.name: expected a name, got none");
  EXPECT_EQ(Filter("{" + Pod("1") + "}"), "NodeNames, Nodes: expected one of them, got null for both");
  EXPECT_EQ(Filter("{" + Pod("1") + R"(,"NodeNames":["a",7]})"), "NodeNames[1]: expected a name, got 7");
  EXPECT_EQ(Filter("{" + Pod("1") + R"(,"Nodes":{"items":[{}]}})"),
            "Nodes.items[0].metadata: expected an object with a name, got null");
  EXPECT_EQ(Preempt("{" + Pod("1") + R"(,"NodeNameToMetaVictims":{"a":{"NumPDBViolations":1.5}}})"),
            "NodeNameToMetaVictims[a].NumPDBViolations: expected an integer, got 1.5");
  EXPECT_EQ(DecodeBindRequest(R"({"PodName":"p","PodNamespace":"ns","Node":"n"})").error().message,
            "PodUID: expected a string, got none");
}

}  // namespace
}  // namespace berth::extender_server
