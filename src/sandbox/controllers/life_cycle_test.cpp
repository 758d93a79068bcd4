// Deletion and failure: owners, budgets, volumes, nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/cluster/fake_live_cluster.hpp"
#include "sandbox/cluster/persistence/dump.hpp"
#include "sandbox/cluster/persistence/load.hpp"
#include "sandbox/kubelet/node_groups.hpp"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kDeployment =
    R"({"metadata":{"name":"web"},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})";

struct LifeCycle : testing::Test {
  LiveCluster cluster;
  LifeCycle() { cluster.CreateNodes(3); }
  void MakeWeb() {
    cluster.Make("/apis/apps/v1", "deployments", std::string(kDeployment));
    cluster.Pass(5s);
  }
  void DeleteWeb(std::string_view propagation) {
    cluster.Do("DELETE", "/apis/apps/v1/namespaces/default/deployments/web",
               fmt::format(R"({{"propagationPolicy":"{}"}})", propagation));
  }
  std::size_t Count(const ResourceType& type) { return cluster.store.All(type).size(); }
};

// --- garbage ---

TEST_F(LifeCycle, BackgroundDeletionRemovesDependentsLater) {
  MakeWeb();
  DeleteWeb("Background");
  EXPECT_EQ(Count(Kinds().deployments), 0U);
  cluster.Pass(5s);
  EXPECT_EQ(Count(Kinds().replica_sets), 0U);
  EXPECT_EQ(cluster.PodCount(), 0U);
}

TEST_F(LifeCycle, ForegroundDeletionRemovesTheOwnerLast) {
  MakeWeb();
  DeleteWeb("Foreground");
  cluster.Pass(100ms);
  EXPECT_EQ(Count(Kinds().deployments), 1U);
  EXPECT_EQ(Count(Kinds().replica_sets), 1U);
  EXPECT_EQ(cluster.Pods(), "");  // all are being deleted
  cluster.Pass(5s);
  EXPECT_EQ(Count(Kinds().deployments), 0U);
  EXPECT_EQ(Count(Kinds().replica_sets), 0U);
  EXPECT_EQ(cluster.PodCount(), 0U);
}

TEST_F(LifeCycle, OrphanedDependentsStay) {
  MakeWeb();
  DeleteWeb("Orphan");
  cluster.Pass(5s);
  EXPECT_EQ(Count(Kinds().deployments), 0U);
  EXPECT_EQ(Count(Kinds().replica_sets), 1U);
  EXPECT_EQ(cluster.PodCount(), 3U);
  MakeWeb();  // adopts its replica set again
  EXPECT_EQ(Count(Kinds().replica_sets), 1U);
  EXPECT_EQ(cluster.PodCount(), 3U);
}

TEST_F(LifeCycle, AnObjectWithAMissingOwnerIsDeleted) {
  cluster.CreatePod("a", "",
                    R"("ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1"}])");
  cluster.Pass(1s);
  EXPECT_EQ(cluster.PodCount(), 0U);
}

TEST_F(LifeCycle, ForegroundDeletionDoesNotWaitForDependentsThatNoLongerBlock) {
  const auto make = [&](std::string_view name, std::string_view metadata = "") {
    return At(
        cluster
            .Make("/api/v1", "configmaps", fmt::format(R"({{"metadata":{{"name":"{}"{}}}}})", name, metadata))
            .Json(),
        "metadata.uid");
  };
  const auto reference = [](std::string_view name, std::string_view uid, bool blocks) {
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"ConfigMap","name":"{}","uid":"{}","blockOwnerDeletion":{}}})", name,
        uid, blocks);
  };
  const std::string keeper = reference("keeper", make("keeper"), false);
  // One dependent has another owner. The others wait for a finalizer; then their owners are changed.
  const struct {
    std::string_view owner, more, change;
  } rows[] = {{"shared", "", ""},
              {"dropped", R"("finalizers":["x/y"],)", R"({"metadata":{"ownerReferences":null}})"},
              {"unblocked", R"("finalizers":["x/y"],)", "{}"}};
  for (const auto& row : rows) {
    const std::string owner = "/api/v1/namespaces/default/configmaps/" + std::string(row.owner);
    const std::string uid = make(row.owner);
    std::string references = reference(row.owner, uid, true);
    if (row.more.empty()) references += "," + keeper;
    make(fmt::format("{}-dependent", row.owner),
         fmt::format(R"(,{}"ownerReferences":[{}])", row.more, references));
    cluster.Do("DELETE", owner, R"({"propagationPolicy":"Foreground"})");
    cluster.Pass(1s);
    if (!row.change.empty()) {
      EXPECT_EQ(cluster.Get(owner).status, 200) << row.owner;
      const std::string unblocked =
          fmt::format(R"({{"metadata":{{"ownerReferences":[{}]}}}})", reference(row.owner, uid, false));
      cluster.Patch(owner + "-dependent", row.change == "{}" ? unblocked : std::string(row.change), "merge");
      cluster.Pass(1s);
    }
    EXPECT_EQ(cluster.Get(owner).status, 404) << row.owner;
    EXPECT_EQ(cluster.Get(owner + "-dependent").status, 200) << row.owner;
  }
}

TEST_F(LifeCycle, AnObjectThatGetsAMissingOwnerIsDeleted) {
  cluster.CreatePod("a");
  cluster.Pass(1s);
  cluster.Patch(
      "/api/v1/namespaces/default/pods/a",
      R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1"}]}})");
  cluster.Pass(2s);
  EXPECT_EQ(cluster.PodCount(), 0U);
}

TEST_F(LifeCycle, AClusterScopedObjectWithANamespacedOwnerStays) {
  cluster.Create("/api/v1/nodes",
                 R"({"metadata":{"name":"owned","ownerReferences":[
                     {"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1"}]}})");
  cluster.Pass(1s);
  EXPECT_NE(cluster.store.Get(Known().nodes, "owned"), nullptr);
}

TEST_F(LifeCycle, DeletingANamespaceDeletesItsContents) {
  cluster.Create("/api/v1/namespaces", R"({"metadata":{"name":"shop"}})");
  cluster.Pass(1s);
  EXPECT_NE(cluster.store.Get(Kinds().service_accounts, "shop/default"), nullptr);
  cluster.Create("/apis/apps/v1/namespaces/shop/deployments", std::string(kDeployment));
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 3U);
  cluster.Do("DELETE", "/api/v1/namespaces/shop");
  cluster.Pass(10s);
  EXPECT_EQ(cluster.PodCount(), 0U);
  EXPECT_EQ(cluster.store.Get(Known().namespaces, "shop"), nullptr);
}

TEST(WithoutControllers, ANamespaceHasNoServiceAccountAndIsDeletedWithItsContents) {
  ControllersOptions options;
  options.workloads = false;
  LiveCluster cluster({}, options);
  cluster.CreateNodes(1);
  cluster.Create("/api/v1/namespaces", R"({"metadata":{"name":"shop"}})");
  cluster.Create("/api/v1/namespaces/shop/pods",
                 R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  cluster.Create("/apis/apps/v1/namespaces/shop/deployments", std::string(kDeployment));
  cluster.Pass(5s);
  EXPECT_EQ(cluster.store.Get(Kinds().service_accounts, "shop/default"), nullptr);
  EXPECT_EQ(cluster.PodCount(), 1U);  // none of the deployment
  cluster.Do("DELETE", "/api/v1/namespaces/shop");
  cluster.Pass(10s);
  EXPECT_EQ(cluster.PodCount(), 0U);
  EXPECT_EQ(cluster.store.Get(Known().namespaces, "shop"), nullptr);
}

// --- the work queue ---

TEST(ClusterView, APodFinishesWithItsContainersAndSidecars) {
  const auto ended = [](std::string_view name, std::string_view time) {
    return fmt::format(R"({{"name":"{}","state":{{"terminated":{{"finishedAt":"{}"}}}}}})", name, time);
  };
  const std::string one = "2024-01-01T00:01:00Z", two = "2024-01-01T00:02:00Z",
                    created = "2024-01-01T00:00:00Z";
  const std::string runs = R"({"name":"c","state":{"running":{}}})",
                    sidecar_runs = R"({"name":"s","state":{}})";
  const struct {
    std::string containers, sidecars, finished;
  } rows[] = {{ended("c", one), "", one},
              {ended("c", one) + "," + ended("d", two), "", two},
              {ended("c", one), ended("s", two), two},
              {ended("c", one), ended("init", two), one},
              {ended("c", one), sidecar_runs, created},
              {runs, "", created},
              {runs, ended("init", two), created},
              {runs, ended("s", two), two},
              {"", "", created}};
  for (const auto& row : rows) {
    TestCluster cluster;
    json::value pod = json::parse(fmt::format(
        R"({{"metadata":{{"namespace":"default","name":"p","creationTimestamp":"{}"}},"spec":{{"initContainers":[{{"name":"init"}},{{"name":"s","restartPolicy":"Always"}}]}},"status":{{"phase":"Failed","containerStatuses":[{}],"initContainerStatuses":[{}]}}}})",
        created, row.containers, row.sidecars));
    cluster.store.Put(Known().pods, pod.as_object());
    const ClusterView view(cluster.store);
    ASSERT_NE(view.Pod("default/p"), nullptr);
    EXPECT_EQ(FormatTime(view.Pod("default/p")->finished), row.finished) << row.containers << row.sidecars;
  }
}

TEST(WorkQueue, AnExceptionIsAFailureThatIsRetried) {
  ManualClock clock;
  TimerQueue timers(clock);
  int runs = 0;
  WorkQueue queue(timers, clock, [&](const std::string&) -> WorkQueue::Outcome {
    if (++runs == 1) throw std::runtime_error("broken");
    return {};
  });
  queue.Add("a");
  timers.RunDue();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(queue.size(), 1U);
  clock.Advance(1s);
  timers.RunDue();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(queue.size(), 0U);
}

// --- budgets and services ---

TEST_F(LifeCycle, ABudgetCountsAllowedDisruptions) {
  MakeWeb();
  cluster.Make(
      "/apis/policy/v1", "poddisruptionbudgets",
      R"({"metadata":{"name":"b"},"spec":{"maxUnavailable":"50%","selector":{"matchLabels":{"app":"web"}}}})");
  cluster.Pass(2s);
  auto budget = cluster.Read("/apis/policy/v1", "poddisruptionbudgets", "b");
  EXPECT_EQ(At(budget, "status.expectedPods"), "3");
  EXPECT_EQ(At(budget, "status.currentHealthy"), "3");
  EXPECT_EQ(At(budget, "status.desiredHealthy"), "1");
  EXPECT_EQ(At(budget, "status.disruptionsAllowed"), "2");
  EXPECT_EQ(LiveCluster::ConditionOf(budget, "DisruptionAllowed"), "True:SufficientPods");
  cluster.scheduling = false;  // replacements of evicted pods do not become ready
  const auto evict = [&] {
    for (const auto& [_, pod] : cluster.controllers.view().all()) {
      if (pod.ready && pod.active())
        return cluster
            .Create(fmt::format("/api/v1/namespaces/default/pods/{}/eviction", pod.object->name),
                    fmt::format(R"({{"metadata":{{"name":"{}"}}}})", pod.object->name))
            .status;
    }
    return 0;
  };
  EXPECT_EQ(evict(), 201);
  EXPECT_EQ(evict(), 201);
  EXPECT_EQ(evict(), 429);
  cluster.Pass(5s);
  EXPECT_EQ(evict(), 429);
  budget = cluster.Read("/apis/policy/v1", "poddisruptionbudgets", "b");
  EXPECT_EQ(LiveCluster::ConditionOf(budget, "DisruptionAllowed"), "False:InsufficientPods");
}

TEST_F(LifeCycle, ADisruptionAtTheLastTimeIsKept) {
  MakeWeb();
  cluster.Make(
      "/apis/policy/v1", "poddisruptionbudgets",
      R"({"metadata":{"name":"b"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"web"}}}})");
  cluster.Pass(5s);
  const std::string names = cluster.Pods();
  const std::string pod = names.substr(0, names.find(' '));
  cluster.Patch("/apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status",
                fmt::format(R"({{"status":{{"disruptedPods":{{"{}":"2262-04-11T23:47:00Z"}}}}}})", pod));
  cluster.Pass(5s);
  const auto budget = cluster.Read("/apis/policy/v1", "poddisruptionbudgets", "b");
  EXPECT_EQ(At(budget, "status.disruptedPods." + pod), "2262-04-11T23:47:00Z");
  EXPECT_EQ(At(budget, "status.currentHealthy"), "2");
}

TEST_F(LifeCycle, APodWithoutAControllerDoesNotDisableABudget) {
  MakeWeb();
  cluster.CreatePod("bare", "", R"("labels":{"app":"web"})");
  cluster.Make(
      "/apis/policy/v1", "poddisruptionbudgets",
      R"({"metadata":{"name":"b"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"web"}}}})");
  cluster.Pass(5s);
  const auto budget = cluster.Read("/apis/policy/v1", "poddisruptionbudgets", "b");
  EXPECT_EQ(At(budget, "status.expectedPods"), "3");
  EXPECT_EQ(At(budget, "status.currentHealthy"), "4");
  EXPECT_EQ(At(budget, "status.disruptionsAllowed"), "2");
  EXPECT_EQ(LiveCluster::ConditionOf(budget, "DisruptionAllowed"), "True:SufficientPods");
  EXPECT_THAT(
      cluster.Events("UnmanagedPods"),
      ElementsAre(HasSubstr("(selector: &LabelSelector{MatchLabels:map[string]string{app: web,},"
                            "MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged.")));
}

TEST_F(LifeCycle, ABudgetForPodsOfADaemonSetNamesTheResourceWithoutScale) {
  cluster.Make(
      "/apis/apps/v1", "daemonsets",
      R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"app":"d"}},"template":{"metadata":{"labels":{"app":"d"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  cluster.Make(
      "/apis/policy/v1", "poddisruptionbudgets",
      R"({"metadata":{"name":"b"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"d"}}}})");
  cluster.Pass(5s);
  EXPECT_THAT(
      cluster.Events("CalculateExpectedPodCountFailed"),
      ElementsAre("Failed to calculate the number of expected pods: daemonsets.apps does not implement "
                  "the scale subresource"));
}

TEST_F(LifeCycle, TheEventOfABudgetPrintsItsSelectorAsGoDoes) {
  cluster.CreatePod("bare", "", R"("labels":{"tier":"front","app":"web"})");
  cluster.Make(
      "/apis/policy/v1", "poddisruptionbudgets",
      R"({"metadata":{"name":"b"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"tier":"front","app":"web"},"matchExpressions":[{"key":"app","operator":"In","values":["web","api"]},{"key":"old","operator":"DoesNotExist"}]}}})");
  cluster.Pass(5s);
  EXPECT_THAT(
      cluster.Events("UnmanagedPods"),
      ElementsAre(HasSubstr(
          "(selector: &LabelSelector{MatchLabels:map[string]string{app: web,tier: front,},"
          "MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:app,Operator:In,"
          "Values:[web api],},LabelSelectorRequirement{Key:old,Operator:DoesNotExist,Values:[],},},})")));
}

TEST_F(LifeCycle, AServiceGetsEndpointsForItsPods) {
  cluster.Make(
      "/api/v1", "services",
      R"({"metadata":{"name":"s"},"spec":{"selector":{"app":"web"},"ports":[{"port":80,"targetPort":8080}]}})");
  MakeWeb();
  const auto endpoints = cluster.Read("/api/v1", "endpoints", "s");
  const auto& subset = endpoints.at("subsets").as_array()[0];
  EXPECT_EQ(subset.at("addresses").as_array().size(), 3U);
  EXPECT_EQ(At(subset.at("ports").as_array()[0], "port"), "8080");
  EXPECT_EQ(Count(Kinds().endpoint_slices), 1U);
  DeleteWeb("Background");
  cluster.Pass(5s);
  EXPECT_EQ(At(cluster.Read("/api/v1", "endpoints", "s"), "subsets"), "");
  cluster.Do("DELETE", "/api/v1/namespaces/default/services/s");
  cluster.Pass(1s);
  EXPECT_EQ(Count(Kinds().endpoints), 0U);
  EXPECT_EQ(Count(Kinds().endpoint_slices), 0U);
}

TEST_F(LifeCycle, EndpointsAndSlicesHaveTheLabelsOfTheirService) {
  cluster.Make(
      "/api/v1", "services",
      R"({"metadata":{"name":"s","labels":{"app":"web"}},"spec":{"clusterIP":"None","selector":{"app":"web"},"ports":[{"port":80}]}})");
  cluster.Pass(1s);
  const auto labels = [&](const ResourceType& type) {
    const Document document = cluster.store.All(type).begin()->second->Parse();
    return json::object(ObjectOrEmpty(document.root(), "metadata.labels"), json::storage_ptr());
  };
  EXPECT_EQ(labels(Kinds().endpoints),
            (json::object{{"app", "web"},
                          {"endpoints.kubernetes.io/managed-by", "endpoint-controller"},
                          {"service.kubernetes.io/headless", ""}}));
  cluster.Patch("/api/v1/namespaces/default/services/s", R"({"metadata":{"labels":{"app":"shop"}}})");
  cluster.Pass(1s);
  EXPECT_EQ(labels(Kinds().endpoints).at("app"), json::value("shop"));
  EXPECT_EQ(labels(Kinds().endpoint_slices),
            (json::object{{"app", "shop"},
                          {"kubernetes.io/service-name", "s"},
                          {"endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"},
                          {"service.kubernetes.io/headless", ""}}));
}

TEST(Slices, ContainTerminatingPodsUntilTheyAreGone) {
  KubeletOptions slow;
  slow.pod_stop = 20s;
  LiveCluster cluster(slow);
  cluster.CreateNodes(1);
  cluster.Make("/api/v1", "services",
               R"({"metadata":{"name":"s"},"spec":{"selector":{"app":"x"},"ports":[{"port":80}]}})");
  cluster.CreatePod("a", "", R"("labels":{"app":"x"})");
  cluster.Pass(5s);
  const auto conditions = [&] {
    const Document slice = cluster.store.All(Kinds().endpoint_slices).begin()->second->Parse();
    const auto& endpoints = ArrayOrEmpty(slice.root(), "endpoints");
    return endpoints.empty() ? std::string() : At(endpoints[0], "conditions");
  };
  EXPECT_EQ(json::parse(conditions()), json::parse(R"({"ready":true,"serving":true,"terminating":false})"));
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a");
  cluster.Pass(5s);
  EXPECT_EQ(json::parse(conditions()), json::parse(R"({"ready":false,"serving":true,"terminating":true})"));
  EXPECT_EQ(At(cluster.Read("/api/v1", "endpoints", "s"), "subsets"), "");
  cluster.Pass(20s);
  EXPECT_EQ(conditions(), "");
}

TEST(Endpoints, OfAServiceThatPublishesAllPodsContainThoseThatAreTerminating) {
  KubeletOptions slow;
  slow.pod_stop = 20s;
  LiveCluster cluster(slow);
  cluster.CreateNodes(1);
  cluster.Make(
      "/api/v1", "services",
      R"({"metadata":{"name":"s"},"spec":{"selector":{"app":"x"},"publishNotReadyAddresses":true,"ports":[{"port":80}]}})");
  cluster.CreatePod("a", "", R"("labels":{"app":"x"})");
  cluster.Pass(5s);
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a");
  cluster.Pass(5s);
  const auto endpoints = cluster.Read("/api/v1", "endpoints", "s");
  EXPECT_EQ(endpoints.at("subsets").as_array()[0].at("addresses").as_array().size(), 1U);
  cluster.Pass(30s);
  EXPECT_EQ(At(cluster.Read("/api/v1", "endpoints", "s"), "subsets"), "");
}

TEST_F(LifeCycle, AServiceCanPublishPodsThatAreNotReady) {
  cluster.Make(
      "/api/v1", "services",
      R"({"metadata":{"name":"s"},"spec":{"selector":{"app":"x"},"publishNotReadyAddresses":true,"ports":[{"port":80}]}})");
  cluster.CreatePod("a", "", R"("labels":{"app":"x"})");
  cluster.Pass(2s);
  cluster.Patch("/api/v1/namespaces/default/pods/a/status",
                R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})");
  cluster.Pass(2s);
  const auto endpoints = cluster.Read("/api/v1", "endpoints", "s");
  EXPECT_EQ(endpoints.at("subsets").as_array()[0].at("addresses").as_array().size(), 1U);
  const Document slice = cluster.store.All(Kinds().endpoint_slices).begin()->second->Parse();
  const json::value& endpoint = FindArray(slice.root(), "endpoints")->front();
  EXPECT_EQ(At(endpoint, "conditions.ready"), "true");
  EXPECT_EQ(At(endpoint, "conditions.serving"), "false");
}

// --- volumes ---

struct Volumes : LifeCycle {
  void MakeClass(std::string_view name, std::string_view mode, std::string_view annotations = "") {
    cluster.Create(
        "/apis/storage.k8s.io/v1/storageclasses",
        fmt::format(
            R"({{"metadata":{{"name":"{}","annotations":{{{}}}}},"provisioner":"p","volumeBindingMode":"{}"}})",
            name, annotations, mode));
  }
  void MakeClaim(std::string_view class_name) {
    cluster.Make(
        "/api/v1", "persistentvolumeclaims",
        fmt::format(
            R"({{"metadata":{{"name":"c"}},"spec":{{"storageClassName":"{}","accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"5Gi"}}}}}}}})",
            class_name));
  }
  void MakeVolume(std::string_view name, std::string_view size) {
    cluster.Create(
        "/api/v1/persistentvolumes",
        fmt::format(
            R"({{"metadata":{{"name":"{}"}},"spec":{{"capacity":{{"storage":"{}"}},"accessModes":["ReadWriteOnce"],"storageClassName":"static","hostPath":{{"path":"/x"}}}}}})",
            name, size));
  }
  std::string ClaimPhase() {
    return At(cluster.Read("/api/v1", "persistentvolumeclaims", "c"), "status.phase");
  }
};

TEST_F(Volumes, AClaimGetsTheSmallestSufficientVolume) {
  MakeVolume("small", "1Gi");
  MakeVolume("large", "50Gi");
  MakeVolume("right", "6Gi");
  MakeClaim("static");
  cluster.Pass(1s);
  EXPECT_EQ(ClaimPhase(), "Bound");
  EXPECT_EQ(At(cluster.Read("/api/v1", "persistentvolumeclaims", "c"), "spec.volumeName"), "right");
  EXPECT_EQ(At(cluster.Get("/api/v1/persistentvolumes/right").Json(), "status.phase"), "Bound");
  EXPECT_EQ(At(cluster.Get("/api/v1/persistentvolumes/small").Json(), "status.phase"), "Available");
}

TEST_F(Volumes, AreProvisionedImmediatelyAndReclaimed) {
  MakeClass("fast", "Immediate");
  MakeClaim("fast");
  cluster.Pass(2s);
  EXPECT_EQ(ClaimPhase(), "Bound");
  EXPECT_EQ(Count(Kinds().volumes), 1U);
  cluster.Patch("/api/v1/namespaces/default/persistentvolumeclaims/c", R"({"metadata":{"finalizers":null}})",
                "merge");
  cluster.Do("DELETE", "/api/v1/namespaces/default/persistentvolumeclaims/c");
  cluster.Pass(2s);
  EXPECT_EQ(Count(Kinds().volumes), 0U);
}

TEST_F(Volumes, WaitForTheirFirstConsumer) {
  MakeClass("late", "WaitForFirstConsumer");
  MakeClaim("late");
  cluster.Pass(10s);
  EXPECT_EQ(ClaimPhase(), "Pending");
  EXPECT_EQ(cluster.Events("WaitForFirstConsumer").size(), 1U);
  cluster.Patch("/api/v1/namespaces/default/persistentvolumeclaims/c",
                R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n2"}}})", "merge");
  cluster.Pass(2s);
  EXPECT_EQ(ClaimPhase(), "Bound");
}

TEST_F(Volumes, AnAnnotationSilencesTheProvisioner) {
  MakeClass("dead", "Immediate", R"("sandbox.berth.dev/provisioning":"never")");
  MakeClaim("dead");
  cluster.Pass(60s);
  EXPECT_EQ(ClaimPhase(), "Pending");
  EXPECT_EQ(cluster.Events("ExternalProvisioning").size(), 1U);
}

// --- nodes ---

struct Failing : LifeCycle {
  void Fail(std::string_view node, std::string_view kind) {
    const std::string value = kind.empty() ? "null" : fmt::format("\"{}\"", kind);
    cluster.Patch(
        fmt::format("/api/v1/nodes/{}", node),
        fmt::format(R"({{"metadata":{{"annotations":{{"sandbox.berth.dev/failure":{}}}}}}})", value),
        "merge");
  }
  std::string Ready(std::string_view node) {
    return LiveCluster::ConditionOf(cluster.Get(fmt::format("/api/v1/nodes/{}", node)).Json(), "Ready");
  }
  std::size_t PodsOn(const std::string& node) {
    std::size_t count = 0;
    for (const PodFacts* pod : cluster.controllers.view().PodsOn(node))
      count += pod->object->deleting ? 0 : 1;
    return count;
  }
};

TEST_F(Failing, PodsOfASilentNodeAreReplacedAfterFiveMinutes) {
  MakeWeb();
  ASSERT_EQ(PodsOn("n1"), 1U);
  Fail("n1", "silent");
  cluster.Pass(40s);
  EXPECT_EQ(Ready("n1"), "True:KubeletReady");
  cluster.Pass(30s);
  EXPECT_EQ(Ready("n1"), "Unknown:NodeStatusUnknown");
  const auto node = cluster.Get("/api/v1/nodes/n1").text;
  EXPECT_THAT(node, HasSubstr("node.kubernetes.io/unreachable"));
  EXPECT_THAT(node, HasSubstr("NoExecute"));
  EXPECT_EQ(At(cluster.Read("/apis/apps/v1", "deployments", "web"), "status.readyReplicas"), "2");
  EXPECT_EQ(PodsOn("n1"), 1U);
  cluster.Pass(290s);
  EXPECT_EQ(PodsOn("n1"), 0U);
  EXPECT_EQ(At(cluster.Read("/apis/apps/v1", "deployments", "web"), "status.readyReplicas"), "3");
  EXPECT_EQ(cluster.PodCount(), 4U);  // no kubelet confirms the deletion
  Fail("n1", "");
  cluster.Pass(5s);
  EXPECT_EQ(Ready("n1"), "True:KubeletReady");
  EXPECT_EQ(cluster.PodCount(), 3U);
}

TEST_F(Failing, ANodeThatRecoversInTimeKeepsItsPods) {
  MakeWeb();
  Fail("n1", "silent");
  cluster.Pass(120s);
  EXPECT_EQ(Ready("n1"), "Unknown:NodeStatusUnknown");
  Fail("n1", "");
  cluster.Pass(5s);
  EXPECT_EQ(Ready("n1"), "True:KubeletReady");
  EXPECT_EQ(At(cluster.Read("/apis/apps/v1", "deployments", "web"), "status.readyReplicas"), "3");
  cluster.Pass(600s);
  EXPECT_EQ(PodsOn("n1"), 1U);
  EXPECT_EQ(cluster.Get("/api/v1/nodes/n1").text.find("unreachable"), std::string::npos);
}

TEST_F(Failing, TheFirstTolerationOfATaintLimitsTheTime) {
  const auto toleration = [](std::string_view seconds) {
    return fmt::format(R"({{"key":"k","operator":"Exists","effect":"NoExecute"{}{}}})",
                       seconds.empty() ? "" : R"(,"tolerationSeconds":)", seconds);
  };
  const auto create = [&](std::string_view name, const std::string& tolerations) {
    cluster.CreatePod(name, fmt::format(R"("nodeName":"n1","tolerations":[{}])", tolerations));
  };
  create("limited", toleration("5"));
  create("limited-first", toleration("5") + "," + toleration(""));
  create("long", toleration("9223372036854775800"));
  create("unlimited", toleration(""));
  create("unlimited-first", toleration("") + "," + toleration("5"));
  cluster.Pass(2s);
  cluster.Patch("/api/v1/nodes/n1", R"({"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}})");
  cluster.Pass(4s);
  EXPECT_EQ(cluster.Pods(), "limited limited-first long unlimited unlimited-first");
  cluster.Pass(60s);
  EXPECT_EQ(cluster.Pods(), "long unlimited unlimited-first");
}

TEST_F(Failing, OtherFailuresSetConditions) {
  Fail("n1", "not-ready");
  Fail("n2", "memory-pressure,disk-pressure");
  cluster.Pass(1s);
  EXPECT_EQ(Ready("n1"), "False:KubeletNotReady");
  EXPECT_THAT(cluster.Get("/api/v1/nodes/n1").text, HasSubstr("node.kubernetes.io/not-ready"));
  EXPECT_THAT(cluster.Get("/api/v1/nodes/n2").text, HasSubstr("node.kubernetes.io/memory-pressure"));
  EXPECT_THAT(cluster.Get("/api/v1/nodes/n2").text, HasSubstr("KubeletHasDiskPressure"));
  EXPECT_EQ(Ready("n2"), "True:KubeletReady");
  Fail("n2", "");
  cluster.Pass(1s);
  EXPECT_EQ(cluster.Get("/api/v1/nodes/n2").text.find("memory-pressure"), std::string::npos);
}

TEST_F(Failing, NodesStayReadyAfterAPauseOfTheProcess) {
  MakeWeb();
  cluster.clock.Advance(120s);  // no timer runs
  cluster.Pass(60s);
  for (const std::string_view node : {"n1", "n2", "n3"}) EXPECT_EQ(Ready(node), "True:KubeletReady");
  EXPECT_TRUE(cluster.Events("NodeNotReady").empty());
}

TEST_F(Failing, AHealthyNodePostsItsConditionsAgain) {
  MakeWeb();
  cluster.Pass(10s);  // until the check of new nodes is over
  const auto ready_pods = [&] {
    return At(cluster.Read("/apis/apps/v1", "deployments", "web"), "status.readyReplicas");
  };
  for (const std::string_view status : {"Unknown", "False"}) {
    cluster.Patch("/api/v1/nodes/n1/status",
                  fmt::format(R"({{"status":{{"conditions":[{{"type":"Ready","status":"{}"}}]}}}})", status));
    cluster.Pass(5s);
    EXPECT_EQ(ready_pods(), "2") << status;
    cluster.Pass(10s);
    EXPECT_EQ(Ready("n1"), "True:KubeletReady") << status;
    EXPECT_EQ(ready_pods(), "3") << status;
  }
}

TEST_F(Failing, NodesStayReadyAfterTheDeletionOfTheirLeases) {
  MakeWeb();
  EXPECT_EQ(cluster.Do("DELETE", "/api/v1/namespaces/kube-node-lease").status, 200);
  for (int i = 0; i < 20; ++i) {
    cluster.Pass(10s);
    EXPECT_EQ(Ready("n1"), "True:KubeletReady");
  }
  EXPECT_EQ(Count(Known().leases), 3U);
}

TEST_F(Failing, PodsOfADeletedNodeAreCollected) {
  MakeWeb();
  cluster.Do("DELETE", "/api/v1/nodes/n1");
  cluster.Pass(60s);
  EXPECT_EQ(cluster.PodCount(), 3U);
  EXPECT_EQ(cluster.controllers.view().CountOn("n1"), 0U);
}

TEST_F(Failing, RandomFailuresStartAndEnd) {
  FailureSchedule schedule(cluster.verbs, cluster.timers, cluster.random);
  const auto node = cluster.store.Get(Known().nodes, "n1");
  schedule.Add("n1", node->uid, {.between = 600s, .lasts = 120s, .kinds = {"not-ready"}});
  std::size_t bad = 0;
  for (int i = 0; i < 2000; ++i) {
    cluster.Pass(10s);
    bad += Ready("n1") == "True:KubeletReady" ? 0 : 1;
  }
  EXPECT_GT(bad, 150U);  // 333 expected
  EXPECT_LT(bad, 700U);
}

// --- dump and load ---

TEST_F(LifeCycle, ADumpLoadsToTheSameCluster) {
  MakeWeb();
  for (const auto format : {DumpFormat::kYaml, DumpFormat::kJson}) {
    const std::string dump = DumpObjects(cluster.store, format);
    LiveCluster copy;
    const auto report = LoadObjects(copy.verbs, dump);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_TRUE(report->skipped.empty());
    EXPECT_EQ(report->lost_owners, 0U);
    const auto uids = [](const Store& store) {
      std::string text;
      for (const auto& [key, pod] : store.All(Known().pods))
        text += key + "=" + pod->uid + "@" + pod->fields[0] + pod->fields[5] + " ";
      return text;
    };
    EXPECT_EQ(uids(copy.store), uids(cluster.store));
    copy.Pass(60s);  // the restored cluster does not change
    EXPECT_EQ(uids(copy.store), uids(cluster.store));
  }
}

TEST_F(LifeCycle, NewObjectsDoNotGetTheUidsOfLoadedOnes) {
  std::set<std::string> uids;
  for (const auto& type : Resources()) {
    for (const auto& [_, object] : cluster.store.All(type)) uids.insert(object->uid);
  }
  LiveCluster copy;  // with the same seed
  ASSERT_TRUE(LoadObjects(copy.verbs, DumpObjects(cluster.store, DumpFormat::kJson)).has_value());
  for (int i = 0; i < 20; ++i) {
    const auto made =
        copy.Make("/api/v1", "configmaps", fmt::format(R"({{"metadata":{{"name":"m{}"}}}})", i));
    EXPECT_FALSE(uids.contains(At(made.Json(), "metadata.uid")));
  }
}

TEST_F(LifeCycle, FilesOfSeveralSourcesLoad) {
  const auto report = LoadObjects(cluster.verbs, R"(
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: gone, uid: u}]}
spec: {nodeName: n1, containers: [{name: c, image: i}]}
status: {phase: Running}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: m, resourceVersion: "77"}, data: {k: v}}
)");
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->objects, 2U);
  EXPECT_EQ(report->skipped.at("example.com/v1 Widget"), 1U);
  EXPECT_EQ(report->lost_owners, 1U);
  EXPECT_EQ(report->made_namespaces, 1U);
  cluster.Pass(5s);
  EXPECT_EQ(cluster.store.Get(Known().pods, "shop/a")->fields[5], "Running");
}

TEST_F(LifeCycle, AnInvalidFileIsRejectedWithItsErrorsAndStoresNothing) {
  const struct {
    std::string_view file, error;
  } rows[] = {{"apiVersion: v1\nkind: ConfigMap\nmetadata: {}",
               "document 1: ConfigMap: metadata.name: Required value"},
              {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: 5}",
               "document 1: Pod \"default/a\""},
              {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {contaners: []}", "spec.contaners"},
              {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_b}", "metadata.name"},
              {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: "
               "ConfigMap\nmetadata: {name: a}",
               "document 2: ConfigMap \"default/a\": given twice, the first time in document 1"},
              {"{", ""}};
  for (const auto& row : rows) {
    const auto before = cluster.store.version();
    const auto report = LoadObjects(cluster.verbs, row.file);
    ASSERT_FALSE(report.has_value()) << row.file;
    EXPECT_THAT(report.error().message, HasSubstr(row.error));
    EXPECT_EQ(cluster.store.version(), before) << row.file;
  }
}

TEST(NodeGroups, AreReadStrictly) {
  const auto groups = ParseNodeGroups(R"(
groups:
- {count: 2, name: w-##, cpu: 4, memory: 8Gi, resources: {nvidia.com/gpu: 2}, taints: ["a=b:NoSchedule"], zones: [z1, z2]}
- {name: solo, failures: {every: 1h, for: 5m, kinds: [silent, not-ready]}}
)");
  ASSERT_TRUE(groups.has_value()) << groups.error().message;
  EXPECT_EQ(NodeName((*groups)[0], 2), "w-02");
  EXPECT_EQ((*groups)[0].resources.at("nvidia.com/gpu"), "2");
  EXPECT_EQ((*groups)[1].failures.between, 1h);
  const struct {
    std::string_view file, error;
  } rows[] = {{"groups: [{cpus: 4}]", "unknown field \"groups[0].cpus\"; did you mean \"cpu\"?"},
              {"groups: [{memory: lots}]", "groups[0].memory: Invalid value: \"lots\""},
              {"groups: [{count: 0}]", "groups[0].count: Invalid value: \"0\""},
              {"groups: [{count: 2, name: w}]", "as in \"w-##\""},
              {"groups: [{taints: [\"a=b:NoShedule\"]}]", "did you mean \"NoSchedule\"?"},
              {"groups: [{failures: {every: 1h, kinds: [silnt]}}]", "did you mean \"silent\"?"},
              {"groups: [{name: a}, {name: a}]", "groups[1].name: Duplicate value: \"a\""},
              {"nodes: 3", "unknown field \"nodes\""},
              {"groups: []", "groups: Required value"}};
  for (const auto& row : rows) {
    const auto wrong = ParseNodeGroups(row.file);
    ASSERT_FALSE(wrong.has_value()) << row.file;
    EXPECT_THAT(wrong.error().message, HasSubstr(row.error));
  }
}

}  // namespace
}  // namespace berth::sandbox
