#include "scheduler/assembly/loaded_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::assembly {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(LoadedCluster, ObjectsOfOtherGroupsDoNotReplaceNodesAndPods) {
  LoadedCluster cluster{{}};
  std::vector<std::string> problems;
  ASSERT_TRUE(cluster.Load(R"(
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "4"}}}
---
{apiVersion: longhorn.io/v1beta2, kind: Node, metadata: {name: a, namespace: longhorn-system}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: a, containers: []}}
---
{apiVersion: metrics.example.com/v1, kind: Pod, metadata: {name: p}}
---
{apiVersion: example.com/v1, kind: PriorityClass, metadata: {name: high}, value: many}
)",
                           "dump", problems));
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(cluster.nodes().at("a")->allocatable.at("cpu").Value(), 4);
  ASSERT_NE(cluster.FindPod("default/p"), nullptr);
  EXPECT_EQ(cluster.FindPod("default/p")->spec.node_name, "a");
  EXPECT_THAT(cluster.priority_classes(), IsEmpty());
  EXPECT_THAT(cluster.kinds(), ElementsAre(Pair("Node", 1U), Pair("Node.longhorn.io", 1U), Pair("Pod", 1U),
                                           Pair("Pod.metrics.example.com", 1U), Pair("PriorityClass", 1U)));
}

}  // namespace
}  // namespace berth::assembly
