// Deployments and replica sets: rollouts from a client's view.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/cluster/fake_live_cluster.hpp"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr std::string_view kApps = "/apis/apps/v1";

std::string Deployment(std::string_view more, std::string_view image = "nginx:1") {
  return fmt::format(
      R"({{"metadata":{{"name":"web"}},"spec":{{"selector":{{"matchLabels":{{"app":"web"}}}},{}"template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"c","image":"{}"}}]}}}}}}}})",
      more, image);
}

struct DeploymentTest : testing::Test {
  LiveCluster cluster;
  std::string path = "/apis/apps/v1/namespaces/default/deployments/web";

  DeploymentTest() { cluster.CreateNodes(3); }
  json::value Web() { return cluster.Get(path).Json(); }
  void SetImage(std::string_view image) {
    cluster.Patch(
        path,
        fmt::format(R"({{"spec":{{"template":{{"spec":{{"containers":[{{"name":"c","image":"{}"}}]}}}}}}}})",
                    image));
  }
  // "hash=wanted/ready@revision" of each replica set, oldest revision first.
  std::string Sets() {
    std::map<std::string, std::string> rows;
    for (const auto& [_, set] : cluster.store.All(Kinds().replica_sets)) {
      const Document document = set->Parse();
      const json::value* revision =
          Find(ObjectOrEmpty(document.root(), "metadata.annotations"), "deployment.kubernetes.io/revision");
      const std::string number(revision->as_string());
      rows[number] = fmt::format("{}:{}/{}", number, IntAt(document.root(), "spec.replicas"),
                                 IntAt(document.root(), "status.readyReplicas"));
    }
    std::string text;
    for (const auto& [_, row] : rows) text += (text.empty() ? "" : " ") + row;
    return text;
  }
};

TEST_F(DeploymentTest, CreatesAReplicaSetThatCreatesPods) {
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":3,)"));
  cluster.Pass(5s);
  const auto web = Web();
  EXPECT_EQ(At(web, "status.readyReplicas"), "3");
  EXPECT_EQ(At(web, "status.updatedReplicas"), "3");
  EXPECT_EQ(At(web, "status.availableReplicas"), "3");
  EXPECT_EQ(At(web, "status.observedGeneration"), "1");
  EXPECT_EQ(LiveCluster::ConditionOf(web, "Available"), "True:MinimumReplicasAvailable");
  EXPECT_EQ(LiveCluster::ConditionOf(web, "Progressing"), "True:NewReplicaSetAvailable");
  EXPECT_EQ(web.at("metadata").at("annotations").at("deployment.kubernetes.io/revision").as_string(), "1");
  const auto set = cluster.store.All(Kinds().replica_sets).begin()->second;
  const std::string hash = *set->Label("pod-template-hash");
  EXPECT_EQ(set->name, "web-" + hash);
  EXPECT_EQ(hash.find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), std::string::npos);
  for (const auto& [_, pod] : cluster.store.All(Known().pods)) {
    EXPECT_TRUE(pod->name.starts_with(set->name + "-")) << pod->name;
    EXPECT_EQ(*pod->Label("pod-template-hash"), hash);
    const Document document = pod->Parse();
    const json::object* owner = ControllerOf(document.root());
    ASSERT_NE(owner, nullptr);
    EXPECT_EQ(FindString(*owner, "kind"), "ReplicaSet");
    EXPECT_TRUE(BoolAt(*owner, "blockOwnerDeletion"));
  }
  EXPECT_THAT(cluster.Events("ScalingReplicaSet"),
              ElementsAre(fmt::format("Scaled up replica set {} from 0 to 3", set->name)));
  EXPECT_EQ(cluster.Events("SuccessfulCreate").size(), 3U);
}

TEST_F(DeploymentTest, ReplacesADeletedPod) {
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":2,)"));
  cluster.Pass(5s);
  const std::string before = cluster.Pods();
  const std::string victim = before.substr(0, before.find(' '));
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/" + victim);
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 2U);
  EXPECT_EQ(cluster.Pods().find(victim), std::string::npos);
}

TEST_F(DeploymentTest, ScalesUpAndDown) {
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":2,)"));
  cluster.Pass(5s);
  cluster.Patch(path, R"({"spec":{"replicas":5}})");
  cluster.Pass(5s);
  EXPECT_EQ(Sets(), "1:5/5");
  cluster.Patch(path, R"({"spec":{"replicas":1}})");
  cluster.Pass(5s);
  EXPECT_EQ(Sets(), "1:1/1");
  EXPECT_EQ(cluster.PodCount(), 1U);
  cluster.Patch(path, R"({"spec":{"replicas":0}})");
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 0U);
}

TEST_F(DeploymentTest, RollsWithinMaxSurgeAndMaxUnavailable) {
  cluster.Make(
      kApps, "deployments",
      Deployment(
          R"("replicas":4,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":1}},)"));
  cluster.Pass(5s);
  SetImage("nginx:2");
  for (int i = 0; i < 200; ++i) {
    cluster.Pass(50ms);
    std::size_t ready = 0, alive = 0;
    for (const auto& [_, pod] : cluster.controllers.view().all()) {
      ready += pod.ready && pod.active() ? 1 : 0;
      alive += pod.active() ? 1 : 0;
    }
    ASSERT_GE(ready, 3U) << "after " << i;
    ASSERT_LE(alive, 5U) << "after " << i;
  }
  EXPECT_EQ(Sets(), "1:0/0 2:4/4");
  EXPECT_EQ(LiveCluster::ConditionOf(Web(), "Progressing"), "True:NewReplicaSetAvailable");
}

TEST_F(DeploymentTest, RecreateDeletesOldPodsBeforeItCreatesNewOnes) {
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":2,"strategy":{"type":"Recreate"},)"));
  cluster.Pass(5s);
  SetImage("nginx:2");
  for (int i = 0; i < 100; ++i) {
    cluster.Pass(50ms);
    std::set<std::string> images;
    for (const auto& [_, pod] : cluster.store.All(Known().pods))
      images.insert(*pod->Label("pod-template-hash"));
    ASSERT_LE(images.size(), 1U);
  }
  EXPECT_EQ(Sets(), "1:0/0 2:2/2");
}

TEST_F(DeploymentTest, ARollbackGivesTheOldSetTheNewestRevision) {
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":1,)"));
  cluster.Pass(5s);
  SetImage("nginx:2");
  cluster.Pass(5s);
  SetImage("nginx:1");
  cluster.Pass(5s);
  EXPECT_EQ(Sets(), "2:0/0 3:1/1");
  EXPECT_EQ(Web().at("metadata").at("annotations").at("deployment.kubernetes.io/revision").as_string(), "3");
  bool history = false;
  for (const auto& [_, set] : cluster.store.All(Kinds().replica_sets))
    history =
        history || set->text.find(R"("deployment.kubernetes.io/revision-history":"1")") != std::string::npos;
  EXPECT_TRUE(history);
}

TEST_F(DeploymentTest, KeepsOldSetsUpToTheHistoryLimit) {
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":1,"revisionHistoryLimit":2,)"));
  for (int i = 2; i < 7; ++i) {
    cluster.Pass(5s);
    SetImage(fmt::format("nginx:{}", i));
  }
  cluster.Pass(5s);
  EXPECT_EQ(Sets(), "4:0/0 5:0/0 6:1/1");
}

TEST_F(DeploymentTest, APausedDeploymentScalesButDoesNotRollOut) {
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":2,)"));
  cluster.Pass(5s);
  cluster.Patch(path, R"({"spec":{"paused":true}})");
  SetImage("nginx:2");
  cluster.Patch(path, R"({"spec":{"replicas":3}})");
  cluster.Pass(5s);
  EXPECT_EQ(Sets(), "1:3/3");
  EXPECT_EQ(LiveCluster::ConditionOf(Web(), "Progressing"), "Unknown:DeploymentPaused");
  cluster.Patch(path, R"({"spec":{"paused":false}})");
  cluster.Pass(5s);
  EXPECT_EQ(Sets(), "1:0/0 2:3/3");
}

TEST_F(DeploymentTest, ScalingDuringARolloutIsProportional) {
  cluster.Make(
      kApps, "deployments",
      Deployment(R"("replicas":10,"strategy":{"rollingUpdate":{"maxSurge":5,"maxUnavailable":0}},)"));
  cluster.Pass(5s);
  cluster.scheduling = false;  // the new pods do not become ready
  SetImage("nginx:2");
  cluster.Pass(5s);
  EXPECT_EQ(Sets(), "1:10/10 2:5/0");
  cluster.Patch(path, R"({"spec":{"replicas":20}})");
  cluster.Pass(5s);
  EXPECT_EQ(Sets(), "1:17/10 2:8/0");
}

TEST_F(DeploymentTest, SetsProgressingFalseAfterTheProgressDeadline) {
  cluster.scheduling = false;
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":1,"progressDeadlineSeconds":30,)"));
  cluster.Pass(20s);
  EXPECT_EQ(LiveCluster::ConditionOf(Web(), "Progressing"), "True:ReplicaSetUpdated");
  cluster.Pass(20s);
  EXPECT_EQ(LiveCluster::ConditionOf(Web(), "Progressing"), "False:ProgressDeadlineExceeded");
  EXPECT_EQ(LiveCluster::ConditionOf(Web(), "Available"), "False:MinimumReplicasUnavailable");
}

TEST_F(DeploymentTest, AProgressDeadlineBeyondTheLastTimeIsNoLimit) {
  cluster.scheduling = false;
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":1,"progressDeadlineSeconds":2147483000,)"));
  cluster.Pass(5s);
  cluster.Patch(
      "/apis/apps/v1/namespaces/default/deployments/web/status",
      R"({"status":{"conditions":[{"type":"Progressing","status":"True","reason":"ReplicaSetUpdated","lastUpdateTime":"2250-01-01T00:00:00Z","lastTransitionTime":"2024-10-04T00:00:00Z"}]}})",
      "merge");
  cluster.Pass(60s);
  EXPECT_EQ(LiveCluster::ConditionOf(Web(), "Progressing"), "True:ReplicaSetUpdated");
}

TEST_F(DeploymentTest, AdoptsMatchingPodsAndReleasesOthers) {
  cluster.Make(
      kApps, "replicasets",
      R"({"metadata":{"name":"rs"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  cluster.CreatePod("stray", "", R"("labels":{"app":"x"})");
  cluster.Pass(3s);
  EXPECT_EQ(cluster.PodCount(), 2U);
  EXPECT_NE(cluster.Pods(), "");
  const std::string pods = cluster.Pods();
  const std::string first = pods.substr(0, pods.find(' '));
  cluster.Patch("/api/v1/namespaces/default/pods/" + first, R"({"metadata":{"labels":{"app":"y"}}})");
  cluster.Pass(3s);
  EXPECT_EQ(cluster.PodCount(), 3U);
  EXPECT_EQ(At(cluster.Pod(first), "metadata.ownerReferences"), "");
}

TEST_F(DeploymentTest, DeletesPodsInTheOrderOfTheirDeletionCost) {
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":3,)"));
  cluster.Pass(5s);
  const std::string pods = cluster.Pods();
  const std::string first = pods.substr(0, pods.find(' '));
  cluster.Patch("/api/v1/namespaces/default/pods/" + first,
                R"({"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-5"}}})");
  cluster.Patch(path, R"({"spec":{"replicas":2}})");
  cluster.Pass(5s);
  EXPECT_EQ(cluster.Pods().find(first), std::string::npos);
}

TEST_F(DeploymentTest, APodThatIsReadySinceTheFarFutureIsNotAvailable) {
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":1,"minReadySeconds":2147483000,)"));
  cluster.Pass(10s);
  cluster.Patch(
      fmt::format("/api/v1/namespaces/default/pods/{}/status", cluster.Pods()),
      R"({"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2250-01-01T00:00:00Z"}]}})",
      "merge");
  cluster.Pass(10s);
  EXPECT_EQ(At(Web(), "status.readyReplicas"), "1");
  EXPECT_EQ(At(Web(), "status.availableReplicas"), "");
}

TEST_F(DeploymentTest, AvailabilityWaitsForMinReadySeconds) {
  cluster.Make(kApps, "deployments", Deployment(R"("replicas":1,"minReadySeconds":20,)"));
  cluster.Pass(10s);
  EXPECT_EQ(At(Web(), "status.readyReplicas"), "1");
  EXPECT_EQ(At(Web(), "status.availableReplicas"), "");
  cluster.Pass(15s);
  EXPECT_EQ(At(Web(), "status.availableReplicas"), "1");
}

}  // namespace
}  // namespace berth::sandbox
