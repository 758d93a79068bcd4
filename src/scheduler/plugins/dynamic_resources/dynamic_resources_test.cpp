// Features that Berth does not implement yet: devices and pod groups.
#include "scheduler/plugins/dynamic_resources/dynamic_resources.hpp"

#include <gtest/gtest.h>

#include "scheduler/plugins/gang_scheduling/gang_scheduling.hpp"
#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;

TEST(DynamicResources, PodsThatNeedDevicesAreRejectedWithAReason) {
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

TEST(DynamicResources, ArgumentsAreValidatedAsInKubeScheduler) {
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

TEST(GangScheduling, PodsOfAGroupAreRejectedWithAReason) {
  Cluster cluster;
  cluster.Add(MakeNode("n"));
  const auto plugin = cluster.Make<GangScheduling>();
  api::Pod pod = MakePod();
  EXPECT_TRUE(cluster.PreFilter(*plugin, pod).status.ok());
  pod.spec.pod_group = std::string("workers");
  const auto status = cluster.PreFilter(*plugin, pod).status;
  EXPECT_EQ(status.code, framework::Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(status.Message(), "pod belongs to pod group workers: Berth does not place groups yet");
}

}  // namespace
}  // namespace berth::plugins
