#include <gmock/gmock.h>

#include "sandbox/cluster/test_cluster.hpp"

namespace berth::sandbox {
namespace {

using testing::HasSubstr;

std::string Message(const RecordedResponse& response) { return At(response.Json(), "message"); }

TEST(Bind, SetsTheNodeAndTheCondition) {
  TestCluster cluster;
  cluster.CreateNode("n1", R"({"topology.kubernetes.io/zone":"z1"})");
  cluster.CreatePod("a");
  cluster.Patch("/api/v1/namespaces/default/pods/a/status",
                R"({"status":{"nominatedNodeName":"n9","conditions":[{"type":"PodScheduled",
      "status":"False","reason":"Unschedulable","message":"m"}]}})");
  const auto answer = cluster.Bind("a", "n1");
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(
      answer.text,
      "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"code\":201}\n");
  const auto pod = cluster.Pod("a");
  EXPECT_EQ(At(pod, "spec.nodeName"), "n1");
  EXPECT_EQ(At(pod, "status.nominatedNodeName"), "");
  EXPECT_EQ(At(pod, "metadata.generation"), "1");
  EXPECT_EQ(pod.at("metadata").at("labels").at("topology.kubernetes.io/zone").as_string(), "z1");
  const auto& condition = pod.at("status").at("conditions").as_array()[0];
  EXPECT_EQ(At(condition, "status"), "True");
  EXPECT_EQ(At(condition, "reason"), "");
}

TEST(Bind, TheNodeNeedNotExist) {
  TestCluster cluster;
  cluster.CreatePod("a");
  EXPECT_EQ(cluster.Bind("a", "nowhere").status, 201);
}

TEST(Bind, ABoundPodCannotBeRebound) {
  TestCluster cluster;
  cluster.CreatePod("a");
  cluster.Bind("a", "n1");
  const auto again = cluster.Bind("a", "n1");
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.text,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
            "\"Operation cannot be fulfilled on "
            "pods/binding \\\"a\\\": pod a is already assigned to node "
            "\\\"n1\\\"\",\"reason\":\"Conflict\",\"details\":{\"name\":\"a\",\"kind\":"
            "\"pods/binding\"},\"code\":409}\n");
}

TEST(Bind, APodUnderDeletionIsNotBound) {
  TestCluster cluster;
  cluster.CreatePod("a", "", R"("finalizers":["x/y"])");
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a");
  EXPECT_THAT(Message(cluster.Bind("a", "n1")),
              HasSubstr("pod a is being deleted, cannot be assigned to a host"));
}

TEST(Bind, AGatedPodIsNotBound) {
  TestCluster cluster;
  cluster.CreatePod("a", R"("schedulingGates":[{"name":"g"}])");
  EXPECT_THAT(Message(cluster.Bind("a", "n1")), HasSubstr("pod a has non-empty .spec.schedulingGates"));
}

struct BindCase {
  std::string name;
  std::string body;
  int status;
  std::string message;
};
void PrintTo(const BindCase& row, std::ostream* out) { *out << row.name; }
class BindErrors : public testing::TestWithParam<BindCase> {};
TEST_P(BindErrors, HaveTheCodeAndTextOfKubeApiserver) {
  TestCluster cluster;
  cluster.CreatePod("a");
  const auto answer = cluster.Create("/api/v1/namespaces/default/pods/a/binding", GetParam().body);
  EXPECT_EQ(answer.status, GetParam().status);
  EXPECT_THAT(Message(answer), HasSubstr(GetParam().message));
  EXPECT_EQ(At(cluster.Pod("a"), "spec.nodeName"), "");
}
INSTANTIATE_TEST_SUITE_P(
    Table, BindErrors,
    testing::Values(
        BindCase{"AnotherName", R"({"metadata":{"name":"b"},"target":{"name":"n1"}})", 400,
                 "name in URL does not match name in Binding object"},
        BindCase{"AnotherNamespace", R"({"metadata":{"namespace":"b"},"target":{"name":"n1"}})", 400,
                 "the namespace of the provided object does not match the namespace sent on the request"},
        BindCase{"NoTarget", R"({"target":{}})", 500, "target.name: Required value"},
        BindCase{"NoNode", R"({"target":{"kind":"Foo","name":"n1"}})", 500,
                 "target.kind: Unsupported value: \"Foo\": supported values: \"Node\", \"<empty>\""},
        BindCase{"AnotherUid", R"({"metadata":{"uid":"u"},"target":{"name":"n1"}})", 409,
                 "Operation cannot be fulfilled on pods \"a\": StorageError: invalid object, Code: 4, Key: "
                 "/registry/pods/default/a, ResourceVersion: 0, "
                 "AdditionalErrorMsg: Precondition failed: UID in precondition: u, UID in object meta: "},
        BindCase{"AnotherVersion", R"({"metadata":{"resourceVersion":"1"},"target":{"name":"n1"}})", 409,
                 "Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: "},
        BindCase{"MalformedInput", R"({"target":7})", 500, "target.name: Required value"}),
    [](const auto& row) { return row.param.name; });

TEST(Evict, RespectsTheDisruptionBudget) {
  TestCluster cluster;
  cluster.CreatePod("a", "", R"("labels":{"app":"x"})");
  cluster.Bind("a", "n1");
  cluster.Patch("/api/v1/namespaces/default/pods/a/status", R"({"status":{"phase":"Running"}})");
  cluster.Create("/apis/policy/v1/namespaces/default/poddisruptionbudgets",
                 R"({"metadata":{"name":"b"},"spec":{"selector":{"matchLabels":{"app":"x"}}}})");
  const std::string target = "/api/v1/namespaces/default/pods/a/eviction";
  const auto unseen = cluster.Create(target, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(unseen.status, 429);
  EXPECT_EQ(At(unseen.Json(), "details.retryAfterSeconds"), "10");  // the controller has not processed it
  cluster.Patch("/apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status",
                R"({"status":{"observedGeneration":1}})", "merge");
  const auto refused = cluster.Create(target, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(Message(refused), "Cannot evict pod as it would violate the pod's disruption budget.");
  cluster.Patch("/apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status",
                R"({"status":{"disruptionsAllowed":1}})", "merge");
  EXPECT_EQ(cluster.Create(target, R"({"metadata":{"name":"a"}})").status, 201);
  EXPECT_NE(At(cluster.Pod("a"), "metadata.deletionTimestamp"), "");
}

struct UnhealthyCase {
  std::string name;
  std::string ready;   // status of the pod's condition Ready
  std::string policy;  // unhealthyPodEvictionPolicy
  int desired, current;
  int status;
};
void PrintTo(const UnhealthyCase& row, std::ostream* out) { *out << row.name; }
class EvictUnhealthy : public testing::TestWithParam<UnhealthyCase> {};
TEST_P(EvictUnhealthy, DoesNotUseTheBudget) {
  const auto& row = GetParam();
  TestCluster cluster;
  cluster.CreatePod("a", "", R"("labels":{"app":"x"})");
  cluster.Bind("a", "n1");
  cluster.Patch(
      "/api/v1/namespaces/default/pods/a/status",
      fmt::format(R"({{"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
                  row.ready));
  cluster.Create(
      "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
      fmt::format(R"({{"metadata":{{"name":"b"}},"spec":{{"selector":{{"matchLabels":{{"app":"x"}}}},
      "unhealthyPodEvictionPolicy":"{}"}}}})",
                  row.policy));
  cluster.Patch(
      "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status",
      fmt::format(R"({{"status":{{"desiredHealthy":{},"currentHealthy":{}}}}})", row.desired, row.current),
      "merge");
  EXPECT_EQ(
      cluster.Create("/api/v1/namespaces/default/pods/a/eviction", R"({"metadata":{"name":"a"}})").status,
      row.status);
  const auto budget = cluster.Get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/b");
  EXPECT_EQ(At(budget.Json(), "status.disruptedPods"), "");
}
INSTANTIATE_TEST_SUITE_P(
    Table, EvictUnhealthy,
    testing::Values(UnhealthyCase{"IfThePolicyAllowsIt", "False", "AlwaysAllow", 2, 1, 201},
                    UnhealthyCase{"IfEnoughOthersAreHealthy", "False", "IfHealthyBudget", 2, 2, 201},
                    UnhealthyCase{"UnlessTooFewAreHealthy", "False", "IfHealthyBudget", 2, 1, 429},
                    UnhealthyCase{"UnlessNoneIsDesired", "False", "IfHealthyBudget", 0, 0, 429},
                    UnhealthyCase{"UnlessThePodIsReady", "True", "AlwaysAllow", 2, 2, 429}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace berth::sandbox
