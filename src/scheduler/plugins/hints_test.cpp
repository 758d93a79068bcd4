// Queueing hints of all plugins, called with events and objects as the queue does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "scheduler/framework/event_cache.hpp"
#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.hpp"
#include "scheduler/plugins/node_affinity/node_affinity.hpp"
#include "scheduler/plugins/node_declared_features/node_declared_features.hpp"
#include "scheduler/plugins/node_name/node_name.hpp"
#include "scheduler/plugins/node_ports/node_ports.hpp"
#include "scheduler/plugins/node_resources/node_resources_fit.hpp"
#include "scheduler/plugins/node_unschedulable/node_unschedulable.hpp"
#include "scheduler/plugins/node_volume_limits/node_volume_limits.hpp"
#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.hpp"
#include "scheduler/plugins/scheduling_gates/scheduling_gates.hpp"
#include "scheduler/plugins/taint_toleration/taint_toleration.hpp"
#include "scheduler/plugins/volume_binding/volume_binding.hpp"
#include "scheduler/plugins/volume_restrictions/volume_restrictions.hpp"
#include "scheduler/plugins/volume_zone/volume_zone.hpp"
#include "testing/cluster.hpp"
#include "testing/storage.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeContainer;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;
using berth::testing::PodBuilder;
using berth::testing::Term;
using framework::ClusterEvent;
using framework::EventObjects;
using framework::EventResource;
using framework::Hint;

class HintTest : public ::testing::Test {
 protected:
  // nullopt: the plugin is not registered for such events.
  std::optional<Hint> HintOf(const framework::Plugin& plugin, const PodBuilder& waiting,
                             const ClusterEvent& event, const EventObjects& objects) {
    const cluster::PodInfo pod = cluster.Prepare(waiting);
    std::optional<Hint> answer;
    for (const framework::EventRegistration& wanted : plugin.EventsToRegister()) {
      if (!wanted.event.Matches(event)) continue;
      const Hint hint = wanted.hint ? wanted.hint(pod, objects).value() : Hint::kQueue;
      if (!answer || hint == Hint::kQueue) answer = hint;
    }
    return answer;
  }
  std::optional<Hint> NodeAdded(const framework::Plugin& plugin, const PodBuilder& waiting,
                                const NodeBuilder& node) {
    return HintOf(plugin, waiting, {EventResource::kNode, framework::kAdd, "NodeAdd"},
                  {nullptr, node.Share()});
  }
  std::optional<Hint> NodeUpdated(const framework::Plugin& plugin, const PodBuilder& waiting,
                                  framework::ActionMask action, const NodeBuilder& before,
                                  const NodeBuilder& after) {
    return HintOf(plugin, waiting, {EventResource::kNode, action, ""}, {before.Share(), after.Share()});
  }
  std::optional<Hint> PodDeleted(const framework::Plugin& plugin, const PodBuilder& waiting,
                                 const PodBuilder& gone) {
    return HintOf(plugin, waiting, {EventResource::kAssignedPod, framework::kDelete, "AssignedPodDelete"},
                  {gone.Share(), nullptr});
  }
  template <class T>
  std::optional<Hint> Added(const framework::Plugin& plugin, const PodBuilder& waiting,
                            EventResource resource, const T& object) {
    return HintOf(plugin, waiting, {resource, framework::kAdd, ""},
                  {nullptr, std::make_shared<const T>(object)});
  }
  template <class T>
  std::optional<Hint> Updated(const framework::Plugin& plugin, const PodBuilder& waiting,
                              EventResource resource, const T& before, const T& after) {
    return HintOf(plugin, waiting, {resource, framework::kUpdate, ""},
                  {std::make_shared<const T>(before), std::make_shared<const T>(after)});
  }
  Cluster cluster;
};

TEST_F(HintTest, UncordoningANodeRequeuesThePod) {
  const auto plugin = cluster.Make<NodeUnschedulable>();
  using framework::kUpdateNodeTaint;
  EXPECT_EQ(NodeAdded(*plugin, MakePod(), MakeNode()), Hint::kQueue);
  EXPECT_EQ(NodeAdded(*plugin, MakePod(), MakeNode().Cordoned()), Hint::kSkip);
  EXPECT_EQ(NodeUpdated(*plugin, MakePod(), kUpdateNodeTaint, MakeNode().Cordoned(), MakeNode()),
            Hint::kQueue);
  EXPECT_EQ(NodeUpdated(*plugin, MakePod(), kUpdateNodeTaint, MakeNode(), MakeNode()), Hint::kSkip);
  EXPECT_EQ(NodeUpdated(*plugin, MakePod(), framework::kUpdateNodeLabel, MakeNode().Cordoned(), MakeNode()),
            std::nullopt);
  const ClusterEvent toleration{EventResource::kTargetPod, framework::kUpdatePodToleration, ""};
  EXPECT_EQ(
      HintOf(*plugin, MakePod(), toleration,
             {MakePod().Share(), MakePod().Tolerating("node.kubernetes.io/unschedulable", "Exists").Share()}),
      Hint::kQueue);
  EXPECT_EQ(HintOf(*plugin, MakePod(), toleration,
                   {MakePod().Share(), MakePod().Tolerating("k", "Exists").Share()}),
            Hint::kSkip);
}

TEST_F(HintTest, RemovingATaintRequeuesPodsThatDidNotTolerateIt) {
  const auto plugin = cluster.Make<TaintToleration>();
  const auto tainted = MakeNode().Taint("k", "v", "NoSchedule");
  using framework::kUpdateNodeTaint;
  EXPECT_EQ(NodeAdded(*plugin, MakePod(), MakeNode()), Hint::kQueue);
  EXPECT_EQ(NodeAdded(*plugin, MakePod(), tainted), Hint::kSkip);
  EXPECT_EQ(NodeAdded(*plugin, MakePod().Tolerating("k", "Exists"), tainted), Hint::kQueue);
  EXPECT_EQ(NodeUpdated(*plugin, MakePod(), kUpdateNodeTaint, tainted, MakeNode()), Hint::kQueue);
  EXPECT_EQ(NodeUpdated(*plugin, MakePod().Tolerating("k", "Exists"), kUpdateNodeTaint, tainted, MakeNode()),
            Hint::kSkip)
      << "this taint cannot have been the reason";
  EXPECT_EQ(NodeUpdated(*plugin, MakePod(), kUpdateNodeTaint, MakeNode().Taint("k", "v", "PreferNoSchedule"),
                        MakeNode()),
            Hint::kSkip);
}

TEST_F(HintTest, AddingALabelRequeuesPodsThatSelectIt) {
  const auto plugin = cluster.Make<NodeAffinity>();
  using framework::kUpdateNodeLabel;
  const auto incoming = MakePod().Selecting("disk", "ssd");
  const auto ssd = MakeNode().Label("disk", "ssd");
  EXPECT_EQ(NodeAdded(*plugin, incoming, ssd), Hint::kQueue);
  EXPECT_EQ(NodeAdded(*plugin, incoming, MakeNode()), Hint::kSkip);
  EXPECT_EQ(NodeUpdated(*plugin, incoming, kUpdateNodeLabel, MakeNode(), ssd), Hint::kQueue);
  EXPECT_EQ(
      NodeUpdated(*plugin, incoming, kUpdateNodeLabel, ssd, MakeNode().Label("disk", "ssd").Label("x", "y")),
      Hint::kSkip);
  const struct {
    api::NodeSelectorTerm term;
    NodeBuilder node;
    Hint hint;
  } terms[] = {
      {Term({{"n", "Gt", {"3"}}}), MakeNode().Label("n", "4"), Hint::kQueue},
      {Term({{"n", "Lt", {"3"}}}), MakeNode().Label("n", "4"), Hint::kSkip},
      {Term({{"n", "NotIn", {"4"}}}), MakeNode(), Hint::kQueue},
      {Term({{"n", "In", {"4", "5"}}}), MakeNode().Label("n", "5"), Hint::kQueue},
      {Term({{"n", "Exists", {}}}), MakeNode(), Hint::kSkip},
      {Term({{"n", "DoesNotExist", {}}}), MakeNode(), Hint::kQueue},
      {Term({}, {{"metadata.name", "In", {"node"}}}), MakeNode(), Hint::kQueue},
      {Term({}, {{"metadata.name", "NotIn", {"node"}}}), MakeNode(), Hint::kSkip},
      {Term({}), MakeNode(), Hint::kSkip},
  };
  for (const auto& row : terms)
    EXPECT_EQ(NodeAdded(*plugin, MakePod().Requiring({row.term}), row.node), row.hint);
}

TEST_F(HintTest, ANodeOutsideTheProfilesAffinityRequeuesNoPod) {
  const auto plugin = cluster.Make<NodeAffinity>(
      "addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
      "[{matchExpressions: "
      "[{key: pool, operator: In, values: [a]}]}]}}");
  EXPECT_EQ(NodeAdded(*plugin, MakePod(), MakeNode()), Hint::kSkip);
  EXPECT_EQ(NodeAdded(*plugin, MakePod(), MakeNode().Label("pool", "a")), Hint::kQueue);
}

TEST_F(HintTest, RemovingAPodRequeuesPodsThatNeedItsPort) {
  const auto plugin = cluster.Make<NodePorts>();
  const auto incoming = MakePod("w").HostPort(80);
  EXPECT_EQ(PodDeleted(*plugin, incoming, MakePod().HostPort(80).OnNode("n")), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, incoming, MakePod().HostPort(80).Nominated("n")), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, incoming, MakePod().HostPort(80)), Hint::kSkip) << "it was nowhere";
  EXPECT_EQ(PodDeleted(*plugin, incoming, MakePod().HostPort(81).OnNode("n")), Hint::kSkip);
  EXPECT_EQ(PodDeleted(*plugin, incoming, MakePod().HostPort(80, "UDP").OnNode("n")), Hint::kSkip);
  EXPECT_EQ(PodDeleted(*plugin, incoming, MakePod().HostPort(80, "TCP", "10.0.0.1").OnNode("n")),
            Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, MakePod("w").HostPort(80, "TCP", "10.0.0.2"),
                       MakePod().HostPort(80, "TCP", "10.0.0.1").OnNode("n")),
            Hint::kSkip);
  EXPECT_EQ(NodeAdded(*plugin, incoming, MakeNode()), Hint::kQueue);
}

TEST_F(HintTest, PortsOfAllContainersAndAddressesAreCompared) {
  const auto plugin = cluster.Make<NodePorts>();
  const auto incoming =
      MakePod("w").HostPort(443).HostPort(80, "TCP", "10.0.0.2").HostPort(80, "TCP", "10.0.0.1");
  const auto gone = [](const std::string& address) {
    return MakePod().HostPort(79).HostPort(80, "TCP", address).OnNode("n");
  };
  EXPECT_EQ(PodDeleted(*plugin, incoming, gone("10.0.0.1")), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, incoming, gone("10.0.0.2")), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, incoming, gone("10.0.0.3")), Hint::kSkip);
  EXPECT_EQ(PodDeleted(*plugin, incoming, gone("0.0.0.0")), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, incoming, gone("")), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, MakePod("w"), gone("")), Hint::kSkip);
}

TEST_F(HintTest, AHintStoresNoTextsOfTheRemovedPod) {
  const auto plugin = cluster.Make<NodePorts>();
  const auto incoming = MakePod("w").HostPort(80);
  EXPECT_EQ(PodDeleted(*plugin, incoming, MakePod().HostPort(81).OnNode("n")), Hint::kSkip);
  const std::size_t texts = cluster.symbols().size();
  EXPECT_EQ(PodDeleted(*plugin, incoming, MakePod().HostPort(80, "other", "10.0.0.9").OnNode("n")),
            Hint::kSkip);
  EXPECT_EQ(cluster.symbols().size(), texts);
}

TEST_F(HintTest, MoreCapacityRequeuesAPodThatFitsOnTheEmptyNode) {
  const auto plugin = cluster.Make<NodeResourcesFit>();
  using framework::kUpdateNodeAllocatable;
  const auto incoming = MakePod().Cpu("2").Request("example.com/gpu", "1");
  const auto good = MakeNode().Cpu("4").Allocatable("example.com/gpu", "1");
  EXPECT_EQ(NodeAdded(*plugin, incoming, good), Hint::kQueue);
  EXPECT_EQ(NodeAdded(*plugin, incoming, MakeNode().Cpu("4")), Hint::kSkip);
  EXPECT_EQ(NodeAdded(*plugin, incoming, MakeNode().Cpu("1").Allocatable("example.com/gpu", "1")),
            Hint::kSkip);
  EXPECT_EQ(NodeAdded(*plugin, MakePod(), MakeNode().Pods("0")), Hint::kSkip);
  EXPECT_EQ(NodeUpdated(*plugin, incoming, kUpdateNodeAllocatable,
                        MakeNode().Cpu("3").Allocatable("example.com/gpu", "1"), good),
            Hint::kQueue);
  EXPECT_EQ(NodeUpdated(*plugin, incoming, kUpdateNodeAllocatable, good,
                        MakeNode().Cpu("4").Memory("8Gi").Allocatable("example.com/gpu", "1")),
            Hint::kSkip)
      << "more of a resource that it does not request";
  EXPECT_EQ(NodeUpdated(*plugin, incoming, kUpdateNodeAllocatable,
                        MakeNode().Cpu("4").Pods("1").Allocatable("example.com/gpu", "1"), good),
            Hint::kQueue)
      << "more pods";
}

// The hint is evaluated for every waiting pod.
TEST_F(HintTest, ScalingDownAPodWithManyResourcesCostsAsMuchAsTheWaitingPodRequests) {
  const auto plugin = cluster.Make<NodeResourcesFit>();
  const auto with = [](const std::string& cpu) {
    api::Pod pod = MakePod().OnNode("n");
    pod.spec.containers = {MakeContainer("a").Cpu(cpu), MakeContainer("b")};
    for (int i = 0; i < 40'000; ++i) {
      const std::string name = "example.com/" + std::to_string(1'000'000 + i);
      pod.spec.containers[i % 2].resources.requests.try_emplace(name, api::Quantity());
    }
    return std::make_shared<const api::Pod>(std::move(pod));
  };
  const EventObjects less_cpu{with("2"), with("1")};
  const ClusterEvent shrunk{EventResource::kAssignedPod, framework::kUpdatePodScaleDown, ""};
  const std::clock_t begun = std::clock();
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(HintOf(*plugin, MakePod().Cpu("1"), shrunk, less_cpu), Hint::kQueue);
  EXPECT_LT((std::clock() - begun) / CLOCKS_PER_SEC, 4);
}

TEST_F(HintTest, ScalingDownAPodRequeuesPodsThatNeedTheResource) {
  const auto plugin = cluster.Make<NodeResourcesFit>();
  const ClusterEvent shrunk{EventResource::kAssignedPod, framework::kUpdatePodScaleDown, ""};
  const EventObjects less_cpu{MakePod().Cpu("2").Memory("1Gi").OnNode("n").Share(),
                              MakePod().Cpu("1").Memory("1Gi").OnNode("n").Share()};
  EXPECT_EQ(HintOf(*plugin, MakePod().Cpu("1"), shrunk, less_cpu), Hint::kQueue);
  EXPECT_EQ(HintOf(*plugin, MakePod().Memory("1Gi"), shrunk, less_cpu), Hint::kSkip);
  EXPECT_EQ(HintOf(*plugin, MakePod().Cpu("1"),
                   {EventResource::kTargetPod, framework::kUpdatePodScaleDown, ""}, less_cpu),
            Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, MakePod().Cpu("1"), MakePod().OnNode("n")), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, MakePod().Cpu("1"), MakePod()), Hint::kSkip);
}

TEST_F(HintTest, GatesAndNodeNames) {
  const ClusterEvent gates{EventResource::kTargetPod, framework::kUpdatePodSchedulingGatesEliminated, ""};
  EXPECT_EQ(HintOf(*cluster.Make<SchedulingGates>(), MakePod().Gate("g"), gates, {}), Hint::kQueue);
  EXPECT_EQ(NodeAdded(*cluster.Make<NodeName>(), MakePod(), MakeNode()), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*cluster.Make<NodeName>(), MakePod(), MakePod().OnNode("n")), std::nullopt);
}

// --- affinity and spreading ---

constexpr ClusterEvent kPodAdded{EventResource::kAssignedPod, framework::kAdd, "AssignedPodAdd"};
constexpr ClusterEvent kPodRelabelled{EventResource::kAssignedPod, framework::kUpdatePodLabel, ""};

api::PodAffinityTerm ToApp(const std::string& app) {
  api::PodAffinityTerm term;
  term.label_selector.emplace().match_labels = {{"app", app}};
  term.topology_key = "zone";
  return term;
}
PodBuilder Placed(const std::string& app) { return MakePod(app).Label("app", app).OnNode("n"); }

TEST_F(HintTest, AffinityIsRequeuedByMatchingPods) {
  const auto plugin = cluster.Make<InterPodAffinity>();
  PodBuilder with_affinity = MakePod("waiting").Label("app", "waiting");
  with_affinity.raw().spec.pod_affinity.emplace().required = {ToApp("db")};
  PodBuilder with_anti_affinity = MakePod("waiting").Label("app", "waiting");
  with_anti_affinity.raw().spec.pod_anti_affinity.emplace().required = {ToApp("db")};
  const PodBuilder plain = MakePod("plain").Label("app", "plain");

  EXPECT_EQ(HintOf(*plugin, with_affinity, kPodAdded, {nullptr, Placed("db").Share()}), Hint::kQueue);
  EXPECT_EQ(HintOf(*plugin, with_affinity, kPodAdded, {nullptr, Placed("web").Share()}), Hint::kSkip);
  EXPECT_EQ(HintOf(*plugin, with_affinity, kPodAdded, {nullptr, MakePod("db").Label("app", "db").Share()}),
            Hint::kSkip)
      << "it has no node";
  EXPECT_EQ(HintOf(*plugin, with_affinity, kPodRelabelled, {Placed("web").Share(), Placed("db").Share()}),
            Hint::kQueue);
  EXPECT_EQ(
      HintOf(*plugin, with_anti_affinity, kPodRelabelled, {Placed("db").Share(), Placed("web").Share()}),
      Hint::kQueue);
  EXPECT_EQ(
      HintOf(*plugin, with_anti_affinity, kPodRelabelled, {Placed("web").Share(), Placed("db").Share()}),
      Hint::kSkip);
  EXPECT_EQ(PodDeleted(*plugin, with_anti_affinity, Placed("db")), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, with_anti_affinity, Placed("web")), Hint::kSkip);
  PodBuilder with_term = Placed("with_term");
  with_term.raw().spec.pod_anti_affinity.emplace().required = {ToApp("plain")};
  EXPECT_EQ(PodDeleted(*plugin, plain, with_term), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, with_affinity, with_term), Hint::kSkip);
}

TEST_F(HintTest, AffinityIsRequeuedByNodesWithTheTopologyKeyAndAntiAffinityByAnyNode) {
  const auto plugin = cluster.Make<InterPodAffinity>();
  PodBuilder with_affinity = MakePod("waiting");
  with_affinity.raw().spec.pod_affinity.emplace().required = {ToApp("db")};
  PodBuilder with_anti_affinity = MakePod("waiting");
  with_anti_affinity.raw().spec.pod_anti_affinity.emplace().required = {ToApp("db")};
  const NodeBuilder bare = MakeNode("n");
  const NodeBuilder in_a = MakeNode("n").Label("zone", "a");
  const NodeBuilder in_b = MakeNode("n").Label("zone", "b");
  EXPECT_EQ(NodeAdded(*plugin, with_affinity, in_a), Hint::kQueue);
  EXPECT_EQ(NodeAdded(*plugin, with_affinity, bare), Hint::kSkip);
  EXPECT_EQ(NodeAdded(*plugin, with_anti_affinity, bare), Hint::kQueue);
  EXPECT_EQ(NodeUpdated(*plugin, with_affinity, framework::kUpdateNodeLabel, bare, in_a), Hint::kQueue);
  EXPECT_EQ(NodeUpdated(*plugin, with_affinity, framework::kUpdateNodeLabel, in_a, in_b), Hint::kQueue);
  EXPECT_EQ(NodeUpdated(*plugin, with_affinity, framework::kUpdateNodeLabel, in_a, bare), Hint::kSkip);
  EXPECT_EQ(NodeUpdated(*plugin, with_anti_affinity, framework::kUpdateNodeLabel, in_a, bare), Hint::kQueue);
  EXPECT_EQ(NodeUpdated(*plugin, with_anti_affinity, framework::kUpdateNodeLabel, bare, in_a), Hint::kSkip);
}

// kube-scheduler requeues a pod when a hint fails.
TEST_F(HintTest, InvalidTermsFailTheHintsThatReadThem) {
  const auto error_of = [&](const framework::Plugin& plugin, const PodBuilder& waiting,
                            const ClusterEvent& event, const EventObjects& objects) -> std::string {
    const cluster::PodInfo pod = cluster.Prepare(waiting);
    for (const framework::EventRegistration& registered : plugin.EventsToRegister()) {
      if (!registered.event.Matches(event)) continue;
      const auto hint = registered.hint(pod, objects);
      if (!hint) return hint.error().message;
    }
    return "";
  };
  const ClusterEvent node_added{EventResource::kNode, framework::kAdd, "NodeAdd"};
  const ClusterEvent pod_added{EventResource::kAssignedPod, framework::kAdd, "AssignedPodAdd"};
  const EventObjects node{nullptr, MakeNode().Label("disk", "ssd").Share()};
  const auto invalid = Term({{"disk", "Like", {"s"}}});
  const auto node_affinity = cluster.Make<NodeAffinity>();
  EXPECT_NE(error_of(*node_affinity, MakePod().Requiring({invalid}), node_added, node), "");
  EXPECT_EQ(error_of(*node_affinity, MakePod().Requiring({invalid, Term({{"disk", "Exists", {}}})}),
                     node_added, node),
            "")
      << "a valid term matches";
  EXPECT_EQ(
      error_of(*node_affinity, MakePod().Selecting("disk", "hdd").Requiring({invalid}), node_added, node), "")
      << "the terms are not read";

  const auto pod_affinity = cluster.Make<InterPodAffinity>();
  api::PodAffinityTerm wrong = ToApp("db");
  wrong.label_selector->match_labels = {{"app", "bad value!"}};
  PodBuilder required = MakePod("waiting");
  required.raw().spec.pod_affinity.emplace().required = {wrong};
  PodBuilder preferred = MakePod("waiting");
  preferred.raw().spec.pod_affinity.emplace().preferred = {{1, wrong}};
  const EventObjects pod{nullptr, Placed("db").Share()};
  EXPECT_NE(error_of(*pod_affinity, required, pod_added, pod), "");
  EXPECT_NE(error_of(*pod_affinity, required, node_added, node), "");
  EXPECT_EQ(error_of(*pod_affinity, preferred, pod_added, pod), "") << "hints read the required terms";
  EXPECT_EQ(HintOf(*pod_affinity, preferred, pod_added, pod), Hint::kSkip);
  PodBuilder gone = Placed("db");
  gone.raw().spec.pod_anti_affinity.emplace().preferred = {{1, wrong}};
  EXPECT_EQ(PodDeleted(*pod_affinity, MakePod("waiting"), gone), Hint::kSkip);
}

PodBuilder Spread() {
  PodBuilder pod = MakePod("web").Label("app", "web");
  api::TopologySpreadConstraint constraint;
  constraint.topology_key = "zone";
  constraint.max_skew = 1;
  constraint.when_unsatisfiable = "DoNotSchedule";
  constraint.label_selector.emplace().match_labels = {{"app", "web"}};
  pod.raw().spec.topology_spread_constraints = {constraint};
  return pod;
}

TEST_F(HintTest, SpreadingIsRequeuedByMatchingPodsAndNodesWithTheTopologyKey) {
  const auto plugin = cluster.Make<PodTopologySpread>();
  EXPECT_EQ(HintOf(*plugin, Spread(), kPodAdded, {nullptr, Placed("web").Share()}), Hint::kQueue);
  EXPECT_EQ(HintOf(*plugin, Spread(), kPodAdded, {nullptr, Placed("db").Share()}), Hint::kSkip);
  EXPECT_EQ(PodDeleted(*plugin, Spread(), Placed("web")), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, Spread(), Placed("web").Namespace("other")), Hint::kSkip);
  EXPECT_EQ(HintOf(*plugin, Spread(), kPodRelabelled, {Placed("web").Share(), Placed("db").Share()}),
            Hint::kQueue);
  EXPECT_EQ(HintOf(*plugin, Spread(), kPodRelabelled, {Placed("cache").Share(), Placed("db").Share()}),
            Hint::kSkip);
  const NodeBuilder bare = MakeNode("n");
  const NodeBuilder in_a = MakeNode("n").Label("zone", "a");
  EXPECT_EQ(NodeAdded(*plugin, Spread(), in_a), Hint::kQueue);
  EXPECT_EQ(NodeAdded(*plugin, Spread(), bare), Hint::kSkip);
  EXPECT_EQ(NodeUpdated(*plugin, Spread(), framework::kUpdateNodeLabel, in_a, bare), Hint::kQueue);
  EXPECT_EQ(
      NodeUpdated(*plugin, Spread(), framework::kUpdateNodeLabel, in_a, MakeNode("n").Label("zone", "b")),
      Hint::kQueue);
  EXPECT_EQ(NodeUpdated(*plugin, Spread(), framework::kUpdateNodeLabel, in_a,
                        MakeNode("n").Label("zone", "a").Label("x", "y")),
            Hint::kSkip);
  EXPECT_EQ(NodeUpdated(*plugin, Spread(), framework::kUpdateNodeTaint, in_a,
                        MakeNode("n").Label("zone", "a").Taint("k", "", "NoSchedule")),
            Hint::kQueue);
}

TEST_F(HintTest, DeclaredFeaturesAreRequeuedByNodesThatDeclareThem) {
  const auto plugin = cluster.Make<NodeDeclaredFeatures>();
  api::Node declares = MakeNode("n");
  declares.declared_features = {"VolumeBindMountOptions"};
  const auto changed = std::make_shared<const api::Node>(declares);
  const ClusterEvent event{EventResource::kNode, framework::kUpdateNodeDeclaredFeature, ""};
  EXPECT_EQ(HintOf(*plugin, MakePod("p"), event, {MakeNode("n").Share(), changed}), Hint::kQueue);
  EXPECT_EQ(HintOf(*plugin, MakePod("p"), event, {changed, changed}), Hint::kSkip);
  EXPECT_EQ(NodeAdded(*plugin, MakePod("p"), MakeNode("n")), Hint::kQueue);
}

// --- volumes ---

using api::CSINode;
using api::PersistentVolume;
using api::PersistentVolumeClaim;
using api::StorageClass;
using berth::testing::ClaimVolume;
using berth::testing::DiskVolume;
using berth::testing::EphemeralVolume;
using berth::testing::MakeClaim;
using berth::testing::MakeClass;
using berth::testing::MakeCsiNode;
using berth::testing::MakeVolume;
using berth::testing::PodWith;

TEST_F(HintTest, RemovingAPodRequeuesPodsThatNeedItsDiskOrClaim) {
  const auto plugin = cluster.Make<VolumeRestrictions>();
  const auto disk = DiskVolume(api::Volume::Source::kGcePersistentDisk, "d");
  EXPECT_EQ(PodDeleted(*plugin, PodWith("w", {disk}), PodWith("g", {disk})), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, PodWith("w", {disk}), PodWith("g", {disk}).Namespace("other")), Hint::kSkip);
  EXPECT_EQ(PodDeleted(*plugin, PodWith("w", {ClaimVolume("c")}), PodWith("g", {ClaimVolume("c")})),
            Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, PodWith("w", {ClaimVolume("c")}), PodWith("g", {ClaimVolume("d")})),
            Hint::kSkip);
  const auto incoming = PodWith("w", {ClaimVolume("c")});
  EXPECT_EQ(
      Added<PersistentVolumeClaim>(*plugin, incoming, EventResource::kPersistentVolumeClaim, MakeClaim("c")),
      Hint::kQueue);
  EXPECT_EQ(
      Added<PersistentVolumeClaim>(*plugin, incoming, EventResource::kPersistentVolumeClaim, MakeClaim("d")),
      Hint::kSkip);
  EXPECT_EQ(NodeAdded(*plugin, incoming, MakeNode()), Hint::kQueue);
}

TEST_F(HintTest, VolumeLimits) {
  const auto plugin = cluster.Make<NodeVolumeLimits>();
  const auto incoming = PodWith("w", {ClaimVolume("c")});
  EXPECT_EQ(Added(*plugin, incoming, EventResource::kCSINode, MakeCsiNode("n", {})), Hint::kQueue);
  const auto limit = [](std::optional<std::int32_t> count) { return MakeCsiNode("n", {{"d", count}}); };
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kCSINode, limit(1), limit(2)), Hint::kQueue);
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kCSINode, limit(std::nullopt), limit(2)), Hint::kQueue);
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kCSINode, limit(2), limit(2)), Hint::kSkip);
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kCSINode, MakeCsiNode("n", {}), limit(std::nullopt)),
            Hint::kSkip);
  EXPECT_EQ(PodDeleted(*plugin, incoming, PodWith("g", {EphemeralVolume("e")}).OnNode("n")), Hint::kQueue);
  EXPECT_EQ(PodDeleted(*plugin, incoming, PodWith("g", {EphemeralVolume("e")})), Hint::kSkip);
  EXPECT_EQ(
      PodDeleted(*plugin, incoming, PodWith("g", {DiskVolume(api::Volume::Source::kIscsi, "i")}).OnNode("n")),
      Hint::kSkip);
  EXPECT_EQ(Added<PersistentVolumeClaim>(*plugin, PodWith("w", {EphemeralVolume("e")}),
                                         EventResource::kPersistentVolumeClaim, MakeClaim("w-e")),
            Hint::kQueue);
  const auto detached = [&](const PodBuilder& waiting, const std::string& attacher) {
    return HintOf(
        *plugin, waiting, {EventResource::kVolumeAttachment, framework::kDelete, ""},
        {std::make_shared<const api::VolumeAttachment>(testing::MakeAttachment("a", "n", "v", attacher)),
         nullptr});
  };
  EXPECT_EQ(detached(incoming, "any"), Hint::kQueue);
  const auto ebs = PodWith("w", {DiskVolume(api::Volume::Source::kAwsElasticBlockStore, "vol-1")});
  EXPECT_EQ(detached(ebs, "ebs.csi.aws.com"), Hint::kQueue);
  EXPECT_EQ(detached(ebs, "other"), Hint::kSkip);
}

TEST_F(HintTest, VolumeZones) {
  const auto plugin = cluster.Make<VolumeZone>();
  const auto incoming = PodWith("w", {ClaimVolume("c")});
  auto immediate = MakeClass();
  immediate.volume_binding_mode = "Immediate";
  EXPECT_EQ(Added(*plugin, incoming, EventResource::kStorageClass, MakeClass()), Hint::kQueue);
  EXPECT_EQ(Added(*plugin, incoming, EventResource::kStorageClass, immediate), Hint::kSkip);
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kStorageClass, immediate, MakeClass()), std::nullopt);
  EXPECT_EQ(Updated<PersistentVolumeClaim>(*plugin, incoming, EventResource::kPersistentVolumeClaim,
                                           MakeClaim("c"), MakeClaim("c").BoundTo("v")),
            Hint::kQueue);
  EXPECT_EQ(Added<PersistentVolume>(*plugin, incoming, EventResource::kPersistentVolume, MakeVolume("v")),
            Hint::kQueue);
  const auto in = [](std::string zone) {
    return MakeVolume("v").Label("topology.kubernetes.io/zone", std::move(zone));
  };
  const auto changed = [&](const PersistentVolume& before, const PersistentVolume& after) {
    return Updated(*plugin, incoming, EventResource::kPersistentVolume, before, after);
  };
  EXPECT_EQ(changed(in("a"), in("b")), Hint::kQueue);
  EXPECT_EQ(changed(in("a__b"), in("b__a")), Hint::kSkip);
  EXPECT_EQ(changed(in("a"), in("a").Label("other", "x")), Hint::kSkip);
}

TEST_F(HintTest, VolumeBindingEvents) {
  const auto plugin = cluster.Make<VolumeBinding>();
  const auto incoming = PodWith("w", {ClaimVolume("c")});
  auto limited = MakeClass();
  limited.allowed_topologies = {{{"zone", {"a"}}}};
  EXPECT_EQ(Added(*plugin, incoming, EventResource::kStorageClass, MakeClass()), Hint::kQueue);
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kStorageClass, MakeClass(), limited), Hint::kQueue);
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kStorageClass, MakeClass(), MakeClass()), Hint::kSkip);
  EXPECT_EQ(Updated<PersistentVolume>(*plugin, incoming, EventResource::kPersistentVolume, MakeVolume("v"),
                                      MakeVolume("v")),
            Hint::kQueue);
  auto migrated = MakeCsiNode("n", {});
  migrated.metadata.annotations = api::Labels{{"storage.alpha.kubernetes.io/migrated-plugins", "x"}};
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kCSINode, MakeCsiNode("n", {}), migrated),
            Hint::kQueue);
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kCSINode, migrated, migrated), Hint::kSkip);
  api::CSIDriver tracked;
  tracked.metadata.name = "d";
  tracked.storage_capacity = true;
  api::CSIDriver untracked = tracked;
  untracked.storage_capacity = false;
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kCSIDriver, tracked, untracked), Hint::kSkip);
  EXPECT_EQ(Updated(*plugin, PodWith("w", {DiskVolume(api::Volume::Source::kCsi, "d")}),
                    EventResource::kCSIDriver, tracked, untracked),
            Hint::kQueue);
  api::CSIStorageCapacity small;
  small.capacity = testing::Amount("1Gi");
  api::CSIStorageCapacity large;
  large.capacity = testing::Amount("2Gi");
  EXPECT_EQ(Added(*plugin, incoming, EventResource::kCSIStorageCapacity, small), Hint::kQueue);
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kCSIStorageCapacity, small, large), Hint::kQueue);
  EXPECT_EQ(Updated(*plugin, incoming, EventResource::kCSIStorageCapacity, large, small), Hint::kSkip);
}

// --- objects of events ---

// An event is evaluated for every waiting pod. A second event with the cache of the first shows what the
// second hint reads again: nothing.
TEST_F(HintTest, WhatDependsOnTheEventOnlyIsComputedOnce) {
  const auto share = [](const auto& object) {
    return std::make_shared<const std::decay_t<decltype(object)>>(object);
  };
  const auto disk = DiskVolume(api::Volume::Source::kAwsElasticBlockStore, "vol-1");
  PodBuilder repelled = MakePod("waiting").Label("app", "waiting");
  repelled.raw().spec.pod_anti_affinity.emplace().required = {ToApp("db")};
  PodBuilder repelling = Placed("other");
  repelling.raw().spec.pod_anti_affinity.emplace().required = {ToApp("waiting")};
  const std::unique_ptr<framework::Plugin> ports = cluster.Make<NodePorts>();
  const std::unique_ptr<framework::Plugin> restrictions = cluster.Make<VolumeRestrictions>();
  const std::unique_ptr<framework::Plugin> limits = cluster.Make<NodeVolumeLimits>();
  const std::unique_ptr<framework::Plugin> affinity = cluster.Make<InterPodAffinity>();
  constexpr ClusterEvent kPodDeleted{EventResource::kAssignedPod, framework::kDelete, "AssignedPodDelete"};
  constexpr ClusterEvent kCsiNodeUpdated{EventResource::kCSINode, framework::kUpdate, "CSINodeUpdate"};
  const struct {
    const char* what;
    const framework::Plugin& plugin;
    PodBuilder waiting;
    ClusterEvent event;
    EventObjects helps, does_not;
  } rows[] = {
      {"disks of the deleted pod",
       *restrictions,
       PodWith("w", {disk}),
       kPodDeleted,
       {PodWith("g", {disk}).OnNode("n").Share(), nullptr},
       {MakePod("g").OnNode("n").Share(), nullptr}},
      {"claims of the deleted pod",
       *restrictions,
       PodWith("w", {ClaimVolume("c")}),
       kPodDeleted,
       {PodWith("g", {ClaimVolume("c")}).OnNode("n").Share(), nullptr},
       {MakePod("g").OnNode("n").Share(), nullptr}},
      {"ports of the deleted pod",
       *ports,
       MakePod("w").HostPort(80),
       kPodDeleted,
       {MakePod("g").HostPort(80).OnNode("n").Share(), nullptr},
       {MakePod("g").OnNode("n").Share(), nullptr}},
      {"limits of a CSINode",
       *limits,
       MakePod("w"),
       kCsiNodeUpdated,
       {share(MakeCsiNode("n", {{"d", 1}})), share(MakeCsiNode("n", {{"d", 2}}))},
       {share(MakeCsiNode("n", {{"d", 2}})), share(MakeCsiNode("n", {{"d", 2}}))}},
      {"labels of the deleted pod",
       *affinity,
       repelled,
       kPodDeleted,
       {Placed("db").Share(), nullptr},
       {Placed("web").Share(), nullptr}},
      {"labels before and after",
       *affinity,
       repelled,
       kPodRelabelled,
       {Placed("db").Share(), Placed("web").Share()},
       {Placed("db").Share(), Placed("db").Share()}},
      {"terms of the deleted pod",
       *affinity,
       MakePod("w").Label("app", "waiting"),
       kPodDeleted,
       {repelling.Share(), nullptr},
       {Placed("other").Share(), nullptr}},
  };
  for (const auto& row : rows) {
    const EventObjects first = framework::WithCache(row.helps);
    EventObjects second = row.does_not;
    ASSERT_EQ(HintOf(row.plugin, row.waiting, row.event, second), Hint::kSkip) << row.what;
    EXPECT_EQ(HintOf(row.plugin, row.waiting, row.event, first), Hint::kQueue) << row.what;
    second.cache = first.cache;
    EXPECT_EQ(HintOf(row.plugin, row.waiting, row.event, second), Hint::kQueue) << row.what;
  }
}

TEST_F(HintTest, OfDriversWithOneNameTheLastOneCounts) {
  const auto plugin = cluster.Make<NodeVolumeLimits>();
  const auto limits = [](std::vector<api::CSINode::Driver> drivers) {
    return MakeCsiNode("n", std::move(drivers));
  };
  const struct {
    const char* what;
    api::CSINode before, after;
    Hint hint;
  } rows[] = {
      {"equal to the first", limits({{"d", 9}, {"d", 1}}), limits({{"d", 9}}), Hint::kQueue},
      {"equal to the last", limits({{"d", 1}, {"d", 9}}), limits({{"d", 9}}), Hint::kSkip},
      {"the last has no limit", limits({{"d", 9}, {"d", std::nullopt}}), limits({{"d", 1}}), Hint::kQueue},
      {"one of two grew", limits({{"d", 5}}), limits({{"d", 6}, {"d", 1}}), Hint::kQueue},
      {"a new driver", limits({{"d", 5}}), limits({{"d", 5}, {"e", 1}}), Hint::kQueue},
      {"another driver has the limit", limits({{"e", 5}}), limits({{"d", 0}}), Hint::kSkip},
  };
  for (const auto& row : rows)
    EXPECT_EQ(Updated(*plugin, MakePod(), EventResource::kCSINode, row.before, row.after), row.hint)
        << row.what;
}

}  // namespace
}  // namespace berth::plugins
