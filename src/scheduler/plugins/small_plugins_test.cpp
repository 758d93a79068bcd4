// Plugins with few lines of code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/plugins/default_binder/default_binder.hpp"
#include "scheduler/plugins/node_name/node_name.hpp"
#include "scheduler/plugins/node_ports/node_ports.hpp"
#include "scheduler/plugins/node_unschedulable/node_unschedulable.hpp"
#include "scheduler/plugins/priority_sort/priority_sort.hpp"
#include "scheduler/plugins/scheduling_gates/scheduling_gates.hpp"
#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeContainer;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using berth::testing::Unresolvable;
using berth::testing::Unschedulable;
using berth::testing::Verdict;
using berth::testing::Verdicts;
using framework::Code;
using ::testing::ElementsAre;

// --- NodeName ---

class NodeNameTest : public ::testing::Test {
 protected:
  NodeNameTest() { cluster.Add(MakeNode("n1")).Add(MakeNode("n2")); }
  Cluster cluster;
  std::unique_ptr<NodeName> plugin = cluster.Make<NodeName>();
};

TEST_F(NodeNameTest, APodWithoutNodeNameFitsOnAllNodes) {
  EXPECT_EQ(cluster.Filter(*plugin, MakePod()), (Verdicts{{"n1", Fits()}, {"n2", Fits()}}));
  const auto answer = cluster.PreFilter(*plugin, MakePod());
  EXPECT_TRUE(answer.status.ok());
  EXPECT_FALSE(answer.nodes);
}

TEST_F(NodeNameTest, OtherNodesAreRejected) {
  EXPECT_EQ(
      cluster.Filter(*plugin, MakePod().OnNode("n2")),
      (Verdicts{{"n1", Unresolvable({"node(s) didn't match the requested node name"})}, {"n2", Fits()}}));
  const auto answer = cluster.PreFilter(*plugin, MakePod().OnNode("n2"));
  ASSERT_TRUE(answer.nodes);
  EXPECT_THAT(*answer.nodes, ElementsAre(cluster.symbols().node_names.Find("n2")));
}

TEST_F(NodeNameTest, AnUnknownNodeNameRejectsAllNodes) {
  const Verdict no = Unresolvable({"node(s) didn't match the requested node name"});
  EXPECT_EQ(cluster.Filter(*plugin, MakePod().OnNode("gone")), (Verdicts{{"n1", no}, {"n2", no}}));
}

// --- NodeUnschedulable ---

struct CordonCase {
  std::string name;
  PodBuilder pod;
  bool fits;
};
class Cordon : public ::testing::TestWithParam<CordonCase> {};
TEST_P(Cordon, RejectsPodsThatDoNotTolerateIt) {
  Cluster cluster;
  cluster.Add(MakeNode("open")).Add(MakeNode("cordoned").Cordoned());
  const auto plugin = cluster.Make<NodeUnschedulable>();
  EXPECT_EQ(
      cluster.Filter(*plugin, GetParam().pod),
      (Verdicts{{"open", Fits()},
                {"cordoned", GetParam().fits ? Fits() : Unresolvable({"node(s) were unschedulable"})}}));
}
INSTANTIATE_TEST_SUITE_P(
    Table, Cordon,
    ::testing::Values(
        CordonCase{"PlainPod", MakePod(), false},
        CordonCase{"ToleratesEverything", MakePod().Tolerating("", "Exists"), true},
        CordonCase{"ToleratesTheCordon",
                   MakePod().Tolerating("node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule"),
                   true},
        CordonCase{"ToleratesTheCordonByValue",
                   MakePod().Tolerating("node.kubernetes.io/unschedulable", "Equal"), true},
        CordonCase{"ToleratesAnotherEffect",
                   MakePod().Tolerating("node.kubernetes.io/unschedulable", "Exists", "", "NoExecute"),
                   false},
        CordonCase{"ToleratesAnotherKey", MakePod().Tolerating("gpu", "Exists"), false}),
    [](const auto& row) { return row.param.name; });

// --- NodePorts ---

struct PortCase {
  std::string name;
  PodBuilder there, pod;
  bool fits;
};
class Ports : public ::testing::TestWithParam<PortCase> {};
TEST_P(Ports, ConflictIfProtocolPortAndAddressOverlap) {
  Cluster cluster;
  cluster.Add(MakeNode("taken")).Add(MakeNode("free")).Run("taken", GetParam().there);
  const auto plugin = cluster.Make<NodePorts>();
  EXPECT_EQ(
      cluster.Filter(*plugin, GetParam().pod),
      (Verdicts{
          {"free", Fits()},
          {"taken", GetParam().fits
                        ? Fits()
                        : Unschedulable({"node(s) didn't have free ports for the requested pod ports"})}}));
}
PodBuilder Holds(std::int32_t port, const char* protocol, const char* address) {
  return MakePod("a").HostPort(port, protocol, address);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Ports,
    ::testing::Values(
        PortCase{"SamePort", Holds(80, "TCP", ""), Holds(80, "TCP", ""), false},
        PortCase{"AnotherPort", Holds(80, "TCP", ""), Holds(81, "TCP", ""), true},
        PortCase{"AnotherProtocol", Holds(80, "TCP", "127.0.0.1"), Holds(80, "UDP", "127.0.0.1"), true},
        PortCase{"NoProtocolIsTcp", Holds(80, "", ""), Holds(80, "TCP", ""), false},
        PortCase{"AnyAddressMeetsEach", Holds(80, "TCP", "0.0.0.0"), Holds(80, "TCP", "127.0.0.1"), false},
        PortCase{"EachAddressMeetsAny", Holds(80, "TCP", "127.0.0.1"), Holds(80, "TCP", ""), false},
        PortCase{"DifferentAddresses", Holds(80, "TCP", "127.0.0.1"), Holds(80, "TCP", "127.0.0.2"), true},
        PortCase{"TheAnyAddressOfIp6IsOrdinary", Holds(80, "TCP", "::"), Holds(80, "TCP", "10.0.0.1"), true},
        PortCase{"OneOfSeveral", Holds(80, "TCP", ""), Holds(81, "TCP", "").HostPort(80), false},
        PortCase{"OfASidecar", MakePod("a").Sidecar(MakeContainer().HostPort(80)), Holds(80, "TCP", ""),
                 false},
        PortCase{"OfAnInitContainerDoNotCount", MakePod("a").Init(MakeContainer().HostPort(80)),
                 Holds(80, "TCP", ""), true}),
    [](const auto& row) { return row.param.name; });

TEST(NodePortsTest, PreFilterSkipsPodsWithoutHostPorts) {
  Cluster cluster;
  const auto plugin = cluster.Make<NodePorts>();
  EXPECT_TRUE(cluster.PreFilter(*plugin, MakePod()).status.skip());
  EXPECT_TRUE(cluster.PreFilter(*plugin, MakePod().HostPort(80)).status.ok());
}

TEST(NodePortsTest, PortsOfOnePodDoNotConflictWithEachOther) {
  Cluster cluster;
  cluster.Add(MakeNode("n"));
  EXPECT_EQ(cluster.Filter(*cluster.Make<NodePorts>(), MakePod().HostPort(80).HostPort(80)).at("n"), Fits());
}

// --- SchedulingGates, PrioritySort, DefaultBinder ---

TEST(SchedulingGatesTest, RejectAPodUntilAllAreRemoved) {
  Cluster cluster;
  const auto plugin = cluster.Make<SchedulingGates>();
  EXPECT_TRUE(plugin->PreEnqueue(cluster.Prepare(MakePod())).ok());
  const framework::Status status = plugin->PreEnqueue(cluster.Prepare(MakePod().Gate("b").Gate("a")));
  EXPECT_EQ(status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(status.Message(), "waiting for scheduling gates: [b a]");
}

TEST(PrioritySortTest, OrdersByPriorityThenByTimestamp) {
  Cluster cluster;
  const auto plugin = cluster.Make<PrioritySort>();
  const auto queued = [&](std::int32_t priority, int since) {
    framework::QueuedPod pod;
    pod.priority = priority;
    pod.timestamp = MonoTime(std::chrono::seconds(since));
    return pod;
  };
  EXPECT_TRUE(plugin->Less(queued(2, 9), queued(1, 1)));
  EXPECT_FALSE(plugin->Less(queued(1, 1), queued(2, 9)));
  EXPECT_TRUE(plugin->Less(queued(1, 1), queued(1, 2)));
  EXPECT_FALSE(plugin->Less(queued(1, 1), queued(1, 1)));
}

TEST(DefaultBinderTest, BindsWithTheUidOfThePod) {
  Cluster cluster;
  const auto plugin = cluster.Make<DefaultBinder>();
  std::vector<framework::Status> answers;
  const cluster::PodInfo pod = cluster.Prepare(MakePod("web").Namespace("shop").Uid("u1"));
  const std::string node = "n1";
  const framework::Placement placement{pod, node, cluster.state()};
  plugin->Bind(placement, [&](framework::Status status) { answers.push_back(std::move(status)); });
  ASSERT_EQ(cluster.api().bindings.size(), 1U);
  EXPECT_EQ(cluster.api().bindings[0].ns, "shop");
  EXPECT_EQ(cluster.api().bindings[0].name, "web");
  EXPECT_EQ(cluster.api().bindings[0].uid, "u1");
  EXPECT_EQ(cluster.api().bindings[0].node, "n1");
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_TRUE(answers[0].ok());

  cluster.api().answer = Fail(ErrorCode::kConflict, "already assigned");
  plugin->Bind(placement, [&](framework::Status status) { answers.push_back(std::move(status)); });
  EXPECT_EQ(answers.at(1).code, Code::kError);
  EXPECT_EQ(answers.at(1).Message(), "already assigned");
}

}  // namespace
}  // namespace berth::plugins
