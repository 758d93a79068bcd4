#include "scheduler/plugins/node_declared_features/node_declared_features.hpp"

#include <gtest/gtest.h>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::Unresolvable;
using berth::testing::Verdicts;

TEST(NodeDeclaredFeatures, AllRequiredFeaturesMustBeDeclared) {
  Cluster cluster;
  const auto add = [&](const std::string& name, std::vector<std::string> features) {
    api::Node node = MakeNode(name);
    node.declared_features = std::move(features);
    cluster.Add(node);
  };
  add("none", {});
  add("mounts", {"VolumeBindMountOptions"});
  add("both", {"UserNamespacesHostNetworkSupport", "VolumeBindMountOptions"});
  const auto plugin = cluster.Make<NodeDeclaredFeatures>();
  const auto lacks = Unresolvable({"node(s) didn't match Pod's required features"});
  api::Pod pod = MakePod();
  EXPECT_EQ(cluster.Evaluate(*plugin, pod),
            (Verdicts{{"none", Fits()}, {"mounts", Fits()}, {"both", Fits()}}));
  pod.spec.bind_mount_options = true;
  EXPECT_EQ(cluster.Evaluate(*plugin, pod),
            (Verdicts{{"none", lacks}, {"mounts", Fits()}, {"both", Fits()}}));
  pod.spec.host_network = true;
  EXPECT_EQ(cluster.Evaluate(*plugin, pod),
            (Verdicts{{"none", lacks}, {"mounts", Fits()}, {"both", Fits()}}));
  pod.spec.host_users = false;
  EXPECT_EQ(cluster.Evaluate(*plugin, pod), (Verdicts{{"none", lacks}, {"mounts", lacks}, {"both", Fits()}}));
}

}  // namespace
}  // namespace berth::plugins
