// The simulated life of pods and nodes.
#include "sandbox/kubelet/kubelet.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sandbox/cluster/test_cluster.hpp"
#include "sandbox/controllers/fields.hpp"
#include "sandbox/kubelet/node_pool.hpp"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;

struct KubeletCluster : TestCluster {
  explicit KubeletCluster(KubeletOptions options = {}) : kubelet(verbs, timers, options) {}
  Kubelet kubelet;
  NodeTaints taints{verbs, timers};
  Housekeeping housekeeping{verbs, timers};

  std::string Phase(std::string_view pod) { return At(Pod(pod), "status.phase"); }
};

TEST(Kubelet, StartsABoundPod) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  cluster.CreatePod("a");
  cluster.Pass(1s);
  EXPECT_EQ(cluster.Phase("a"), "Pending");
  cluster.Bind("a", "n1");
  EXPECT_EQ(cluster.Phase("a"), "Pending");
  cluster.Pass(500ms);
  const auto pod = cluster.Pod("a");
  EXPECT_EQ(At(pod, "status.phase"), "Running");
  EXPECT_NE(At(pod, "status.podIP"), "");
  EXPECT_NE(At(pod, "status.startTime"), "");
  std::string conditions;
  for (const auto& condition : pod.at("status").at("conditions").as_array()) {
    conditions += At(condition, "type") + "=" + At(condition, "status") + " ";
  }
  EXPECT_EQ(
      conditions,
      "PodScheduled=True PodReadyToStartContainers=True Initialized=True Ready=True ContainersReady=True ");
}

TEST(Kubelet, APodOnANodeThatDoesNotExistStaysPending) {
  KubeletCluster cluster;
  cluster.CreatePod("a");
  cluster.Bind("a", "nowhere");
  cluster.Pass(10s);
  EXPECT_EQ(cluster.Phase("a"), "Pending");
}

TEST(Kubelet, APodStartsWhenItsNodeIsCreated) {
  KubeletCluster cluster;
  cluster.CreatePod("a");
  cluster.Bind("a", "n1");
  cluster.Pass(10s);
  cluster.CreateNode("n1");
  cluster.Pass(1s);
  EXPECT_EQ(cluster.Phase("a"), "Running");
}

TEST(Kubelet, ACrashedPodIsRestartedOnceItsNodeHasRecovered) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  cluster.CreatePod("a", "",
                    R"("annotations":{"sandbox.berth.dev/run-for":"5s","sandbox.berth.dev/exit-code":"1"})");
  cluster.Bind("a", "n1");
  cluster.Pass(7s);
  const auto restarts = [&] {
    return At(cluster.Pod("a").at("status").at("containerStatuses").as_array().at(0), "restartCount");
  };
  const auto fail = [&](std::string_view failure) {
    cluster.Patch("/api/v1/nodes/n1",
                  fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})", kFailure, failure), "merge");
  };
  EXPECT_EQ(restarts(), "1");
  fail(R"("silent")");
  cluster.Pass(60s);  // its back-off of ten seconds ends
  fail("null");
  cluster.Pass(7s);
  EXPECT_EQ(restarts(), "2");
}

TEST(Kubelet, ARecoveredNodeChangesOnlyPodsThatAreNotReadyBecauseOfIt) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  cluster.CreatePod("crashed", "",
                    R"("annotations":{"sandbox.berth.dev/run-for":"5s","sandbox.berth.dev/exit-code":"1"})");
  cluster.CreatePod("ready");
  cluster.CreatePod("unready");
  for (const std::string_view pod : {"crashed", "ready", "unready"}) cluster.Bind(pod, "n1");
  cluster.Pass(7s);
  const auto condition = [&](std::string_view pod) {
    const auto object = cluster.Pod(pod);
    const json::object* ready = FindCondition(object.at("status").as_object(), "Ready");
    return At(*ready, "status") + " " + At(*ready, "lastTransitionTime");
  };
  cluster.Patch("/api/v1/namespaces/default/pods/unready/status",
                R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})");
  const std::string crashed = condition("crashed"), ready = condition("ready");
  const auto fail = [&](std::string_view failure) {
    cluster.Patch("/api/v1/nodes/n1",
                  fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})", kFailure, failure), "merge");
    cluster.Pass(1s);
  };
  fail(R"("not-ready")");
  fail("null");
  EXPECT_TRUE(crashed.starts_with("False ")) << crashed;
  EXPECT_EQ(condition("crashed"), crashed);
  EXPECT_EQ(condition("ready"), ready);
  EXPECT_TRUE(condition("unready").starts_with("True ")) << condition("unready");
}

TEST(Kubelet, APodSucceedsAfterItsRunTime) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  constexpr std::string_view kThirtySeconds = R"("annotations":{"sandbox.berth.dev/run-for":"30s"})";
  for (const std::string_view policy : {"Never", "OnFailure"}) {
    cluster.CreatePod(policy == "Never" ? "a" : "b", fmt::format(R"("restartPolicy":"{}")", policy),
                      kThirtySeconds);
  }
  for (const std::string_view name : {"a", "b"}) cluster.Bind(name, "n1");
  cluster.Pass(30s);
  for (const std::string_view name : {"a", "b"}) EXPECT_EQ(cluster.Phase(name), "Running") << name;
  cluster.Pass(1s);
  for (const std::string_view name : {"a", "b"}) EXPECT_EQ(cluster.Phase(name), "Succeeded") << name;
}

TEST(Kubelet, APodThatAlwaysRestartsIsRestartedAfterItsRunTime) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  cluster.CreatePod("a", "", R"("annotations":{"sandbox.berth.dev/run-for":"30s"})");
  cluster.Bind("a", "n1");
  cluster.Pass(32s);
  const auto container = [&] {
    return cluster.Pod("a").at("status").at("containerStatuses").as_array().at(0).as_object();
  };
  EXPECT_EQ(cluster.Phase("a"), "Running");
  EXPECT_EQ(FindString(container(), "state.waiting.reason"), "CrashLoopBackOff");
  EXPECT_EQ(FindString(container(), "lastState.terminated.reason"), "Completed");
  EXPECT_EQ(At(container(), "restartCount"), "1");
  cluster.Pass(10s);
  EXPECT_TRUE(FindObject(container(), "state.running") != nullptr);
  EXPECT_EQ(FindString(container(), "lastState.terminated.reason"), "Completed");
}

TEST(Kubelet, FinishesADeletionWithAGracePeriod) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  cluster.CreatePod("a");
  cluster.Bind("a", "n1");
  cluster.Pass(1s);
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a");
  EXPECT_EQ(cluster.Get("/api/v1/namespaces/default/pods/a").status, 200);
  cluster.Pass(500ms);
  EXPECT_EQ(cluster.Get("/api/v1/namespaces/default/pods/a").status, 404);
}

TEST(Kubelet, ADeletedPodThatStaysForItsFinalizersHasFailed) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  cluster.CreatePod("a", "", R"("finalizers":["x/y"])");
  cluster.Bind("a", "n1");
  cluster.Pass(1s);
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a");
  EXPECT_EQ(cluster.Phase("a"), "Running");
  cluster.Pass(1s);
  EXPECT_EQ(cluster.Phase("a"), "Failed");
  cluster.Patch("/api/v1/namespaces/default/pods/a", R"({"metadata":{"finalizers":null}})", "merge");
  EXPECT_EQ(cluster.Get("/api/v1/namespaces/default/pods/a").status, 404);
}

TEST(Kubelet, TheGracePeriodLimitsTheTimeToStop) {
  KubeletOptions options;
  options.pod_stop = 20s;
  KubeletCluster cluster(options);
  cluster.CreateNode("n1");
  const struct {
    std::string_view name, grace;  // of the pod
    std::string first, second;     // bodies of the deletions
    Duration stops_after;
  } rows[] = {{"long", "30", "", "", 20s},
              {"short", "2", "", "", 2s},
              {"requested", "30", R"({"gracePeriodSeconds":3})", "", 3s},
              {"shortened", "30", "", R"({"gracePeriodSeconds":2})", 2s}};
  for (const auto& row : rows) {
    cluster.CreatePod(row.name, fmt::format(R"("terminationGracePeriodSeconds":{})", row.grace));
    cluster.Bind(row.name, "n1");
    cluster.Pass(1s);
    const std::string target = fmt::format("/api/v1/namespaces/default/pods/{}", row.name);
    cluster.Do("DELETE", target, row.first);
    if (!row.second.empty()) cluster.Do("DELETE", target, row.second);
    cluster.Pass(row.stops_after - 1ms);
    EXPECT_EQ(cluster.Get(target).status, 200) << row.name;
    cluster.Pass(1ms);
    EXPECT_EQ(cluster.Get(target).status, 404) << row.name;
  }
}

TEST(Kubelet, APodDoesNotGetTheAddressOfARunningOne) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  cluster.CreatePod("first");
  cluster.Bind("first", "n1");
  cluster.Pass(1s);
  const std::string taken = At(cluster.Pod("first"), "status.podIP");
  std::set<std::string> others;
  for (int i = 0; i < 260; ++i) {
    cluster.CreatePod("other");
    cluster.Bind("other", "n1");
    cluster.Pass(1s);
    others.insert(At(cluster.Pod("other"), "status.podIP"));
    cluster.Do("DELETE", "/api/v1/namespaces/default/pods/other", R"({"gracePeriodSeconds":0})");
  }
  EXPECT_EQ(others.size(), 253U);
  EXPECT_FALSE(others.contains(taken));
}

TEST(Kubelet, LeavesAReplacementPodOfTheSameNameAlone) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  cluster.CreatePod("a");
  cluster.Bind("a", "n1");
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a", R"({"gracePeriodSeconds":0})");
  cluster.CreatePod("a");
  cluster.Pass(10s);
  EXPECT_EQ(cluster.Phase("a"), "Pending");
}

TEST(Kubelet, ANodeCreatedByAClientBecomesReady) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  cluster.Pass(1s);
  EXPECT_NE(cluster.Get("/api/v1/nodes/n1").text.find("KubeletReady"), std::string::npos);
}

TEST(Kubelet, RenewsEachLeaseOncePerInterval) {
  KubeletCluster cluster;
  NodePoolOptions pool;
  pool.nodes = 7;
  ASSERT_TRUE(CreateNodes(cluster.verbs, cluster.random, pool).has_value());
  const auto before = cluster.store.version();
  cluster.Pass(100s);
  EXPECT_NEAR(static_cast<double>(cluster.store.version() - before), 70, 3);
}

TEST(NodePool, NodesHaveTheFieldsThatSchedulersUse) {
  KubeletCluster cluster;
  NodePoolOptions pool;
  pool.nodes = 6;
  pool.gpu_nodes = 1;
  ASSERT_TRUE(CreateNodes(cluster.verbs, cluster.random, pool).has_value());
  const auto node = cluster.Get("/api/v1/nodes/node-0005").Json();
  const auto& labels = node.at("metadata").at("labels");
  EXPECT_EQ(labels.at("topology.kubernetes.io/zone").as_string(), "sandbox-1b");
  EXPECT_EQ(labels.at("node.kubernetes.io/instance-type").as_string(), "standard-16");
  EXPECT_EQ(node.at("status").at("allocatable").at("cpu").as_string(), "15900m");
  const auto gpu = cluster.Get("/api/v1/nodes/gpu-0001").Json();
  EXPECT_EQ(gpu.at("status").at("allocatable").at("nvidia.com/gpu").as_string(), "8");
  EXPECT_EQ(At(gpu.at("spec").at("taints").as_array()[0], "key"), "nvidia.com/gpu");
}

TEST(NodeTaints, FollowCordonAndConditions) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  const auto taints = [&] {
    cluster.Pass(1ms);
    std::string keys;
    const auto node = cluster.Get("/api/v1/nodes/n1").Json();
    const json::array* list = FindArray(node.as_object(), "spec.taints");
    for (const auto& taint : list != nullptr ? *list : json::array())
      keys += At(taint, "key") + ":" + At(taint, "effect") + " ";
    return keys;
  };
  EXPECT_EQ(taints(), "");
  cluster.Patch("/api/v1/nodes/n1", R"({"spec":{"unschedulable":true}})");
  EXPECT_EQ(taints(), "node.kubernetes.io/unschedulable:NoSchedule ");
  cluster.Patch("/api/v1/nodes/n1", R"({"spec":{"unschedulable":null}})");
  EXPECT_EQ(taints(), "");
  cluster.Patch("/api/v1/nodes/n1/status",
                R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})");
  EXPECT_EQ(taints(), "node.kubernetes.io/not-ready:NoSchedule node.kubernetes.io/not-ready:NoExecute ");
}

TEST(Housekeeping, EventsExpireAfterAnHour) {
  KubeletCluster cluster;
  cluster.Create("/api/v1/namespaces/default/events",
                 R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}})");
  cluster.Pass(59min);
  EXPECT_EQ(cluster.Get("/api/v1/namespaces/default/events/e").status, 200);
  cluster.Pass(2min);
  EXPECT_EQ(cluster.Get("/api/v1/namespaces/default/events/e").status, 404);
}

TEST(Housekeeping, ATerminatingNamespaceIsDeletedWithItsContents) {
  KubeletCluster cluster;
  cluster.CreateNode("n1");
  cluster.Create("/api/v1/namespaces", R"({"metadata":{"name":"x"}})");
  cluster.Create("/api/v1/namespaces/x/pods",
                 R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  cluster.Create("/api/v1/namespaces/x/pods/a/binding", R"({"target":{"name":"n1"}})");
  cluster.Do("DELETE", "/api/v1/namespaces/x");
  EXPECT_EQ(At(cluster.Get("/api/v1/namespaces/x").Json(), "status.phase"), "Terminating");
  EXPECT_EQ(cluster.Create("/api/v1/namespaces/x/configmaps", R"({"metadata":{"name":"c"}})").status, 403);
  cluster.Pass(5s);
  EXPECT_EQ(cluster.Get("/api/v1/namespaces/x").status, 404);
  EXPECT_EQ(cluster.Get("/api/v1/namespaces/x/pods/a").status, 404);
}

TEST(Housekeeping, ATerminatingNamespaceWaitsForItsFinalizers) {
  const std::string target = "/api/v1/namespaces/x";
  const struct {
    std::string_view ns, method, path, body;
  } rows[] = {{R"({"metadata":{"name":"x","finalizers":["x/y"]}})", "PATCH", "",
               R"({"metadata":{"finalizers":null}})"},
              {R"({"metadata":{"name":"x"},"spec":{"finalizers":["x/y"]}})", "PUT", "/finalize",
               R"({"metadata":{"name":"x"},"spec":{"finalizers":["kubernetes"]}})"}};
  for (const auto& row : rows) {
    KubeletCluster cluster;
    cluster.Create("/api/v1/namespaces", std::string(row.ns));
    cluster.Do("DELETE", target);
    cluster.Pass(60s);
    EXPECT_EQ(At(cluster.Get(target).Json(), "status.phase"), "Terminating") << row.ns;
    cluster.Do(std::string(row.method), target + std::string(row.path), std::string(row.body),
               row.method == "PATCH" ? "application/merge-patch+json" : "application/json");
    cluster.Pass(1s);
    EXPECT_EQ(cluster.Get(target).status, 404) << row.ns;
  }
}

TEST(Housekeeping, FinalizingANamespaceKeepsItWhileItsMetadataHasFinalizers) {
  KubeletCluster cluster;
  cluster.Create("/api/v1/namespaces", R"({"metadata":{"name":"x","finalizers":["x/y"]}})");
  cluster.Do("DELETE", "/api/v1/namespaces/x");
  const auto finalized = cluster.Do("PUT", "/api/v1/namespaces/x/finalize",
                                    R"({"metadata":{"name":"x"},"spec":{"finalizers":[]}})");
  EXPECT_EQ(finalized.status, 200);
  EXPECT_EQ(cluster.Get("/api/v1/namespaces/x").status, 200);
}

TEST(RunPlan, ACommandThatSleepsForCenturiesHasNoEnd) {
  json::array words;
  for (int i = 0; i < 200; ++i) {
    words.emplace_back("sleep");
    words.emplace_back("99999999");
  }
  const json::object pod{
      {"spec", json::object{{"restartPolicy", "Never"},
                            {"containers", json::array{json::object{{"command", words}}}}}}};
  EXPECT_EQ(RunPlanOf(pod, 5s).runs_for, std::nullopt);
}

TEST(GoDuration, ParsesGosFormat) {
  EXPECT_EQ(ParseSpan("30s"), 30s);
  EXPECT_EQ(ParseSpan("1h2m3.5s"), 1h + 2min + 3500ms);
  EXPECT_EQ(ParseSpan("0"), 0s);
  for (const std::string_view text : {"", "5", "s", "-1s", "1x", "1e9h", "nan", "99999999999h"})
    EXPECT_FALSE(ParseSpan(text).has_value()) << text;
}

}  // namespace
}  // namespace berth::sandbox
