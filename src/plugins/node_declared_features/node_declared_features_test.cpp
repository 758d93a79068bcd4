#include "plugins/node_declared_features/node_declared_features.hpp"

#include <gtest/gtest.h>

#include "plugins/dynamic_resources/dynamic_resources.hpp"
#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::Unresolvable;
using berth::testing::Verdicts;

TEST(NodeDeclaredFeatures, EveryFeatureThatThePodUsesMustBeDeclared) {
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
  EXPECT_EQ(cluster.Judge(*plugin, pod), (Verdicts{{"none", Fits()}, {"mounts", Fits()}, {"both", Fits()}}));
  pod.spec.bind_mount_options = true;
  EXPECT_EQ(cluster.Judge(*plugin, pod), (Verdicts{{"none", lacks}, {"mounts", Fits()}, {"both", Fits()}}));
  pod.spec.host_network = true;
  EXPECT_EQ(cluster.Judge(*plugin, pod), (Verdicts{{"none", lacks}, {"mounts", Fits()}, {"both", Fits()}}));
  pod.spec.host_users = false;
  EXPECT_EQ(cluster.Judge(*plugin, pod), (Verdicts{{"none", lacks}, {"mounts", lacks}, {"both", Fits()}}));
}

TEST(DynamicResources, PodsThatNeedDevicesWaitAndAreToldWhy) {
  Cluster cluster;
  cluster.Add(MakeNode("n"));
  const auto plugin = cluster.Make<DynamicResources>();
  const api::Pod wants_gpu = MakePod().Request("example.com/gpu", "1");
  EXPECT_TRUE(cluster.PreFilter(*plugin, wants_gpu).status.skip()) << "a resource like any other";
  api::DeviceClass gpus;
  gpus.metadata.name = "gpus";
  gpus.extended_resource_name = "example.com/gpu";
  cluster.Put(gpus);
  const auto of_class = cluster.PreFilter(*plugin, wants_gpu).status;
  EXPECT_EQ(of_class.code, framework::Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(
      of_class.Message(),
      "pod requests example.com/gpu, which device class gpus provides: Berth does not allocate devices yet");
  api::Pod with_claim = MakePod();
  with_claim.spec.resource_claims = {{"gpu", "claim", std::nullopt}};
  const auto claims = cluster.PreFilter(*plugin, with_claim).status;
  EXPECT_EQ(claims.code, framework::Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(claims.Message(), "pod uses resource claims, which Berth does not allocate yet");
  EXPECT_TRUE(cluster.PreFilter(*plugin, MakePod()).status.skip());
}

TEST(DynamicResources, ArgumentsAreCheckedAsInTheOriginal) {
  Cluster cluster;
  EXPECT_TRUE(cluster.TryMake<DynamicResources>("{filterTimeout: 10s, bindingTimeout: 10m}").has_value());
  const std::pair<const char*, const char*> cases[] = {
      {"{filterTimeout: -1s}",
       "profiles[0].pluginConfig[0].args.filterTimeout: Invalid value: \"-1s\": must be zero or positive"},
      {"{bindingTimeout: 10ms}",
       "profiles[0].pluginConfig[0].args.bindingTimeout: Invalid value: \"10ms\": must be at least 1 second"},
  };
  for (const auto& [args, text] : cases) {
    const auto made = cluster.TryMake<DynamicResources>(args);
    ASSERT_FALSE(made.has_value()) << args;
    EXPECT_EQ(made.error().message, text);
  }
}

}  // namespace
}  // namespace berth::plugins
