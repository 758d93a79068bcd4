#include "scheduler/plugins/gang_scheduling/gang_scheduling.hpp"

#include <gtest/gtest.h>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeGroup;
using berth::testing::MakePod;
using framework::Code;

class GangSchedulingTest : public ::testing::Test {
 protected:
  std::string Gate(const std::string& pod, const std::string& group) {
    return plugin->PreEnqueue(cluster.Prepare(MakePod(pod).Group(group))).Message();
  }
  void AddMember(const std::string& pod, const std::string& group) {
    cluster.groups().Put(MakePod(pod).Uid(pod).Group(group).Share());
  }

  Cluster cluster;
  std::unique_ptr<GangScheduling> plugin = cluster.Make<GangScheduling>();
};

TEST_F(GangSchedulingTest, APodWithoutAGroupPasses) {
  EXPECT_TRUE(plugin->PreEnqueue(cluster.Prepare(MakePod())).ok());
}

TEST_F(GangSchedulingTest, AMemberWaitsForItsGroupAndForEnoughMembers) {
  AddMember("a", "g");
  EXPECT_EQ(Gate("a", "g"), "waiting for pods's pod group \"g\" to appear in scheduling queue");
  cluster.groups().PutObject(MakeGroup("g", 2));
  EXPECT_EQ(Gate("a", "g"), "waiting for minCount pods from a gang to appear in scheduling queue");
  AddMember("b", "g");
  EXPECT_EQ(Gate("a", "g"), "");
}

TEST_F(GangSchedulingTest, AGroupWithBasicPolicyNeedsNoNumberOfMembers) {
  cluster.groups().PutObject(MakeGroup("g"));
  EXPECT_EQ(Gate("a", "g"), "");
}

TEST_F(GangSchedulingTest, APlacementIsFeasibleWhileMinCountCanBeReached) {
  struct Case {
    std::size_t scheduled, remaining;
    Code code;
    std::string text;
  };
  const auto group = MakeGroup("g", 3);
  for (const Case& c :
       {Case{3, 0, Code::kSuccess, ""}, Case{4, 2, Code::kSuccess, ""},
        Case{1, 2, Code::kWait, "minCount (3) is not yet satisfied: 1 scheduled, 2 remaining"},
        Case{1, 1, Code::kUnschedulable, "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"}}) {
    const auto status =
        plugin->PlacementFeasible(*group, {.remaining = c.remaining, .scheduled = c.scheduled});
    EXPECT_EQ(status.code, c.code);
    EXPECT_EQ(status.Message(), c.text);
  }
  EXPECT_EQ(plugin->PlacementFeasible(*MakeGroup("basic"), {.remaining = 0, .scheduled = 0}).Message(),
            "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining");
}

TEST_F(GangSchedulingTest, PermitWaitsUntilMinCountMembersAreScheduled) {
  cluster.groups().PutObject(MakeGroup("g", 2));
  AddMember("a", "g");
  AddMember("b", "g");
  const auto permit = [&](const std::string& name) {
    const auto pod = MakePod(name).Uid(name).Group("g").Share();
    cluster.groups().Assume(*pod, "n1");
    const cluster::PodInfo info = cluster.Prepare(*pod);
    const std::string node = "n";
    return plugin->Permit({info, node, cluster.state()});
  };
  const auto first = permit("a");
  EXPECT_EQ(first.status.code, Code::kWait);
  EXPECT_EQ(first.status.Message(), "waiting for minCount pods from a gang to be scheduled");
  EXPECT_EQ(first.timeout, std::chrono::minutes(5));
  EXPECT_TRUE(permit("b").status.ok());
}

}  // namespace
}  // namespace berth::plugins
