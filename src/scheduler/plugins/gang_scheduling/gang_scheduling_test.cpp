#include "scheduler/plugins/gang_scheduling/gang_scheduling.hpp"

#include <gtest/gtest.h>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;

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
