// StatefulSets and DaemonSets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/cluster/fake_live_cluster.hpp"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kAppsPath = "/apis/apps/v1";

std::string Set(std::string_view name, std::string_view more, std::string_view image = "i:1") {
  return fmt::format(
      R"({{"metadata":{{"name":"{0}"}},"spec":{{"selector":{{"matchLabels":{{"app":"{0}"}}}},{1}"template":{{"metadata":{{"labels":{{"app":"{0}"}}}},"spec":{{"containers":[{{"name":"c","image":"{2}"}}]}}}}}}}})",
      name, more, image);
}

struct SetsTest : testing::Test {
  LiveCluster cluster;
  SetsTest() { cluster.CreateNodes(3); }

  json::value Of(std::string_view plural, std::string_view name) {
    return cluster.Read(kAppsPath, plural, name);
  }
  void SetImage(std::string_view plural, std::string_view name, std::string_view image) {
    cluster.Patch(
        fmt::format("{}/namespaces/default/{}/{}", kAppsPath, plural, name),
        fmt::format(R"({{"spec":{{"template":{{"spec":{{"containers":[{{"name":"c","image":"{}"}}]}}}}}}}})",
                    image));
  }
  std::string Images() {
    std::string images;
    for (const auto& [_, pod] : cluster.store.All(Known().pods)) {
      const Document document = pod->Parse();
      images += fmt::format(
          "{}{}", images.empty() ? "" : " ",
          FindString(FindArray(document.root(), "spec.containers")->front().as_object(), "image"));
    }
    return images;
  }
};

TEST_F(SetsTest, AStatefulSetCreatesItsPodsInOrder) {
  cluster.Make(kAppsPath, "statefulsets", Set("db", R"("replicas":3,"serviceName":"db",)"));
  cluster.Pass(100ms);
  EXPECT_EQ(cluster.Pods(), "db-0");
  cluster.Pass(600ms);
  EXPECT_EQ(cluster.Pods(), "db-0 db-1");
  cluster.Pass(5s);
  EXPECT_EQ(cluster.Pods("spec.hostname"), "db-0=db-0 db-1=db-1 db-2=db-2");
  EXPECT_EQ(cluster.Pods("spec.subdomain"), "db-0=db db-1=db db-2=db");
  const auto db = Of("statefulsets", "db");
  EXPECT_EQ(At(db, "status.readyReplicas"), "3");
  EXPECT_EQ(At(db, "status.updatedReplicas"), "3");
  EXPECT_EQ(At(db, "status.currentRevision"), At(db, "status.updateRevision"));
  EXPECT_THAT(At(db, "status.currentRevision"), HasSubstr("db-"));
  const auto pod = cluster.Pod("db-1");
  EXPECT_EQ(pod.at("metadata").at("labels").at("apps.kubernetes.io/pod-index").as_string(), "1");
  EXPECT_EQ(pod.at("metadata").at("labels").at("controller-revision-hash").as_string(),
            At(db, "status.currentRevision"));
  EXPECT_THAT(cluster.Events("SuccessfulCreate"),
              ElementsAre("create Pod db-0 in StatefulSet db successful",
                          "create Pod db-1 in StatefulSet db successful",
                          "create Pod db-2 in StatefulSet db successful"));
}

TEST_F(SetsTest, AParallelStatefulSetDoesNotWait) {
  cluster.Make(kAppsPath, "statefulsets",
               Set("db", R"("replicas":3,"podManagementPolicy":"Parallel","ordinals":{"start":5},)"));
  cluster.Pass(100ms);
  EXPECT_EQ(cluster.Pods(), "db-5 db-6 db-7");
}

TEST_F(SetsTest, AStatefulSetDeletesTheHighestOrdinalFirst) {
  cluster.Make(kAppsPath, "statefulsets", Set("db", R"("replicas":3,)"));
  cluster.Pass(10s);
  cluster.Patch("/apis/apps/v1/namespaces/default/statefulsets/db", R"({"spec":{"replicas":1}})");
  cluster.Pass(100ms);
  EXPECT_EQ(cluster.Pods(), "db-0 db-1");
  cluster.Pass(10s);
  EXPECT_EQ(cluster.Pods(), "db-0");
}

TEST_F(SetsTest, AStatefulSetRecreatesAPodUnderItsName) {
  cluster.Make(kAppsPath, "statefulsets", Set("db", R"("replicas":2,)"));
  cluster.Pass(10s);
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/db-0");
  cluster.Pass(10s);
  EXPECT_EQ(cluster.Pods(), "db-0 db-1");
}

TEST_F(SetsTest, AStatefulSetReportsTheFailedPodThatItRecreates) {
  cluster.Make(kAppsPath, "statefulsets", Set("db", R"("replicas":2,)"));
  cluster.Pass(10s);
  for (const std::string_view phase : {"Failed", "Succeeded"}) {
    cluster.Patch("/api/v1/namespaces/default/pods/db-1/status",
                  fmt::format(R"({{"status":{{"phase":"{}"}}}})", phase), "merge");
    cluster.Pass(5s);
    EXPECT_EQ(At(cluster.Pod("db-1"), "status.phase"), "Running") << phase;
  }
  EXPECT_THAT(cluster.Events("RecreatingFailedPod"),
              ElementsAre("StatefulSet default/db is recreating failed Pod db-1"));
  EXPECT_THAT(cluster.Events("RecreatingTerminatedPod"),
              ElementsAre("StatefulSet default/db is recreating terminated Pod db-1"));
}

TEST_F(SetsTest, AStatefulSetUpdatesDownToItsPartition) {
  cluster.Make(
      kAppsPath, "statefulsets",
      Set("db",
          R"("replicas":3,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}},)"));
  cluster.Pass(10s);
  SetImage("statefulsets", "db", "i:2");
  cluster.Pass(20s);
  EXPECT_EQ(Images(), "i:1 i:1 i:2");
  EXPECT_NE(At(Of("statefulsets", "db"), "status.currentRevision"),
            At(Of("statefulsets", "db"), "status.updateRevision"));
  // A pod below the partition is recreated with the old template.
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/db-0");
  cluster.Pass(10s);
  EXPECT_EQ(Images(), "i:1 i:1 i:2");
  cluster.Patch("/apis/apps/v1/namespaces/default/statefulsets/db",
                R"({"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}})");
  cluster.Pass(20s);
  EXPECT_EQ(Images(), "i:2 i:2 i:2");
  EXPECT_EQ(At(Of("statefulsets", "db"), "status.currentRevision"),
            At(Of("statefulsets", "db"), "status.updateRevision"));
}

TEST_F(SetsTest, AStatefulSetUpdatesAsManyPodsAsMayBeUnavailable) {
  for (const std::string_view policy : {"OrderedReady", "Parallel"}) {
    const std::string name = policy == "Parallel" ? "parallel" : "ordered";
    cluster.Make(
        kAppsPath, "statefulsets",
        Set(name,
            fmt::format(
                R"("replicas":4,"podManagementPolicy":"{}","updateStrategy":{{"type":"RollingUpdate","rollingUpdate":{{"maxUnavailable":"50%"}}}},)",
                policy)));
    cluster.Pass(10s);
    SetImage("statefulsets", name, "i:2");
    cluster.Pass(100ms);
    EXPECT_EQ(cluster.Pods(), name + "-0 " + name + "-1");
    cluster.Pass(30s);
    EXPECT_EQ(Images(), "i:2 i:2 i:2 i:2");
    cluster.Do("DELETE", fmt::format("{}/namespaces/default/statefulsets/{}", kAppsPath, name));
    cluster.Pass(10s);
  }
}

TEST_F(SetsTest, AStatefulSetReportsARevisionWithoutATemplate) {
  cluster.Make(
      kAppsPath, "statefulsets",
      Set("db",
          R"("replicas":2,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}},)"));
  cluster.Pass(10s);
  SetImage("statefulsets", "db", "i:2");
  cluster.Pass(1s);
  cluster.Patch(fmt::format("{}/namespaces/default/controllerrevisions/{}", kAppsPath,
                            At(Of("statefulsets", "db"), "status.currentRevision")),
                R"({"data":"x"})", "merge");
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/db-0");
  cluster.Pass(5s);
  ASSERT_FALSE(cluster.Events("FailedCreate").empty());
  EXPECT_THAT(cluster.Events("FailedCreate").front(), HasSubstr("create Pod db-0 in StatefulSet db failed"));
}

TEST_F(SetsTest, AStatefulSetCreatesClaimsAndKeepsThem) {
  cluster.Make(
      kAppsPath, "statefulsets",
      Set("db",
          R"("replicas":2,"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)"));
  cluster.Pass(10s);
  EXPECT_EQ(cluster.store.All(Kinds().claims).size(), 2U);
  EXPECT_EQ(At(cluster.Get("/api/v1/namespaces/default/persistentvolumeclaims/data-db-1").Json(),
               "metadata.labels.app"),
            "db");
  const auto volumes = cluster.Pod("db-1").at("spec").at("volumes").as_array();
  EXPECT_EQ(At(volumes[0], "persistentVolumeClaim.claimName"), "data-db-1");
  cluster.Patch("/apis/apps/v1/namespaces/default/statefulsets/db", R"({"spec":{"replicas":0}})");
  cluster.Pass(10s);
  EXPECT_EQ(cluster.store.All(Kinds().claims).size(), 2U);
}

TEST_F(SetsTest, ADaemonSetHasOnePodOnEachEligibleNode) {
  cluster.CreateNode("special", R"({"role":"gpu"})");
  cluster.Patch("/api/v1/nodes/n1", R"({"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}})");
  cluster.Patch("/api/v1/nodes/n2", R"({"spec":{"unschedulable":true}})");
  cluster.Make(kAppsPath, "daemonsets", Set("agent", ""));
  cluster.Pass(5s);
  std::set<std::string> nodes;
  for (const auto& [_, pod] : cluster.store.All(Known().pods)) nodes.insert(pod->fields[0]);
  EXPECT_EQ(nodes, (std::set<std::string>{"n2", "n3", "special"}));
  const auto agent = Of("daemonsets", "agent");
  EXPECT_EQ(At(agent, "status.desiredNumberScheduled"), "3");
  EXPECT_EQ(At(agent, "status.currentNumberScheduled"), "3");
  EXPECT_EQ(At(agent, "status.numberReady"), "3");
  EXPECT_EQ(At(agent, "status.numberAvailable"), "3");
  EXPECT_EQ(At(agent, "status.updatedNumberScheduled"), "3");
  const auto first = cluster.store.All(Known().pods).begin()->second;
  EXPECT_THAT(first->text, HasSubstr(R"("matchFields":[{"key":"metadata.name","operator":"In","values":[)"));
  EXPECT_EQ(first->Label("controller-revision-hash")->find_first_not_of("bcdfghjklmnpqrstvwxz2456789"),
            std::string::npos);
}

TEST_F(SetsTest, ADaemonSetReplacesPodsThatHaveEnded) {
  cluster.Make(kAppsPath, "daemonsets", Set("agent", ""));
  cluster.Pass(5s);
  const auto end = [&](std::string_view phase) {
    const ObjectPtr pod = cluster.store.All(Known().pods).begin()->second;
    cluster.Patch(fmt::format("/api/v1/namespaces/default/pods/{}/status", pod->name),
                  fmt::format(R"({{"status":{{"phase":"{}"}}}})", phase), "merge");
    cluster.Pass(5s);
    EXPECT_FALSE(cluster.store.Get(Known().pods, pod->key)) << phase;
    EXPECT_EQ(At(Of("daemonsets", "agent"), "status.numberReady"), "3") << phase;
    return fmt::format("daemon pod {} on node {}, will try to", pod->key, pod->fields[pod_field::kNodeName]);
  };
  const std::string failed = end("Failed"), succeeded = end("Succeeded");
  EXPECT_THAT(cluster.Events("FailedDaemonPod"), ElementsAre("Found failed " + failed + " kill it"));
  EXPECT_THAT(cluster.Events("SucceededDaemonPod"),
              ElementsAre("Found succeeded " + succeeded + " delete it"));
}

TEST_F(SetsTest, ADaemonSetFollowsNewAndChangedNodes) {
  cluster.Make(kAppsPath, "daemonsets", Set("agent", ""));
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 3U);
  cluster.CreateNode("n9");
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 4U);
  cluster.Patch("/api/v1/nodes/n9", R"({"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}})");
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 3U);
  EXPECT_EQ(At(Of("daemonsets", "agent"), "status.desiredNumberScheduled"), "3");
}

TEST_F(SetsTest, ADaemonSetRollsWithinMaxUnavailable) {
  cluster.Make(
      kAppsPath, "daemonsets",
      Set("agent", R"("updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1}},)"));
  cluster.Pass(5s);
  SetImage("daemonsets", "agent", "i:2");
  for (int i = 0; i < 100; ++i) {
    cluster.Pass(50ms);
    std::size_t ready = 0;
    for (const auto& [_, pod] : cluster.controllers.view().all()) ready += pod.ready && pod.active() ? 1 : 0;
    ASSERT_GE(ready, 2U) << i;
  }
  EXPECT_EQ(Images(), "i:2 i:2 i:2");
  EXPECT_EQ(At(Of("daemonsets", "agent"), "status.updatedNumberScheduled"), "3");
  EXPECT_EQ(cluster.store.All(Kinds().controller_revisions).size(), 2U);
}

TEST_F(SetsTest, ADaemonSetWithSurgeAlwaysHasAReadyPod) {
  cluster.Make(
      kAppsPath, "daemonsets",
      Set("agent",
          R"("updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":0}},)"));
  cluster.Pass(5s);
  SetImage("daemonsets", "agent", "i:2");
  for (int i = 0; i < 100; ++i) {
    cluster.Pass(50ms);
    std::set<std::string> covered;
    for (const auto& [_, pod] : cluster.controllers.view().all()) {
      if (pod.ready && pod.active()) covered.insert(pod.node());
    }
    ASSERT_EQ(covered.size(), 3U) << i;
  }
  EXPECT_EQ(Images(), "i:2 i:2 i:2");
}

}  // namespace
}  // namespace berth::sandbox
