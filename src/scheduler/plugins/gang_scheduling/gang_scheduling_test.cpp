#include "scheduler/plugins/gang_scheduling/gang_scheduling.hpp"

#include <gtest/gtest.h>

#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeChildGroup;
using berth::testing::MakeComposite;
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

// With the feature gate CompositePodGroup.
class GangSchedulingInTreesTest : public GangSchedulingTest {
 protected:
  GangSchedulingInTreesTest() {
    std::vector<std::string> notes;
    const std::string on[] = {
        "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"};
    cluster.handle().gates = config::FeatureGates::Parse(on, notes).value();
    plugin = cluster.Make<GangScheduling>();
  }
  void Put(const api::PodGroupPtr& object) { cluster.groups().PutObject(object); }
};

TEST_F(GangSchedulingInTreesTest, AGroupWithoutAParentNeedsItsMembers) {
  AddMember("a", "g");
  EXPECT_EQ(Gate("a", "g"),
            "failed to build hierarchy snapshot: pod group object not found in state for podgroup/default/g");
  Put(MakeGroup("g", 2));
  EXPECT_EQ(Gate("a", "g"), "waiting for minCount pods from a gang to appear in scheduling queue");
  AddMember("b", "g");
  EXPECT_EQ(Gate("a", "g"), "");
}

TEST_F(GangSchedulingInTreesTest, ATreeIsReadyIfEnoughGroupsHaveEnoughMembers) {
  const std::string waits = "waiting for composite pod group \"root\" tree to meet quorum";
  Put(MakeComposite("root", "", 2));
  Put(MakeComposite("middle", "root"));
  Put(MakeChildGroup("g1", "root", 2));
  Put(MakeChildGroup("g2", "middle"));
  AddMember("a", "g1");
  EXPECT_EQ(Gate("a", "g1"), waits) << "no group is ready";
  AddMember("b", "g1");
  EXPECT_EQ(Gate("a", "g1"), waits) << "one group is ready";
  AddMember("c", "g2");
  EXPECT_EQ(Gate("a", "g1"), "");
  Put(MakeComposite("root", "", 3));
  EXPECT_EQ(Gate("a", "g1"), waits) << "the answer is not that of the last call";
}

TEST_F(GangSchedulingInTreesTest, ATreeMayHaveFourCompositeGroupsAboveAPodGroup) {
  Put(MakeComposite("c1"));
  for (int level = 2; level <= 4; ++level)
    Put(MakeComposite("c" + std::to_string(level), "c" + std::to_string(level - 1)));
  Put(MakeChildGroup("g", "c4"));
  AddMember("a", "g");
  EXPECT_EQ(Gate("a", "g"), "");
  Put(MakeComposite("c5", "c4"));
  Put(MakeChildGroup("too-deep", "c5"));
  AddMember("b", "too-deep");
  EXPECT_EQ(Gate("b", "too-deep"),
            "failed to build hierarchy snapshot: composite pod group object not found in state for "
            "compositepodgroup/default/c5");
}

TEST_F(GangSchedulingInTreesTest, AMissingGroupIsNamed) {
  Put(MakeChildGroup("g", "c"));
  AddMember("a", "g");
  EXPECT_EQ(Gate("a", "g"),
            "failed to build hierarchy snapshot: composite pod group object not found in state for "
            "compositepodgroup/default/c");
}

TEST_F(GangSchedulingInTreesTest, PermitWaitsUntilEnoughGroupsAreScheduled) {
  Put(MakeComposite("root", "", 2));
  Put(MakeChildGroup("g1", "root"));
  Put(MakeChildGroup("g2", "root"));
  AddMember("a", "g1");
  AddMember("b", "g2");
  const auto permit = [&](const std::string& name, const std::string& group) {
    const auto pod = MakePod(name).Uid(name).Group(group).Share();
    cluster.groups().Assume(*pod, "n1");
    const cluster::PodInfo info = cluster.Prepare(*pod);
    const std::string node = "n";
    return plugin->Permit({info, node, cluster.state()});
  };
  const auto first = permit("a", "g1");
  EXPECT_EQ(first.status.code, Code::kWait);
  EXPECT_EQ(first.status.Message(), "waiting for composite pod group \"root\" tree to meet quorum");
  EXPECT_EQ(first.timeout, std::chrono::minutes(5));
  EXPECT_TRUE(permit("b", "g2").status.ok());
}

TEST_F(GangSchedulingInTreesTest, EventsOfOneTreeConcernAllItsMembers) {
  Put(MakeComposite("root"));
  Put(MakeChildGroup("g1", "root"));
  Put(MakeChildGroup("g2", "root"));
  Put(MakeGroup("other"));
  const auto events = plugin->EventsToRegister();
  ASSERT_EQ(events.back().event.resource, framework::EventResource::kCompositePodGroup);
  const auto hint = [&](const std::string& group, const api::CompositePodGroupPtr& added) {
    return *events.back().hint(cluster.Prepare(MakePod("a").Group(group)), {nullptr, added});
  };
  EXPECT_EQ(hint("g1", MakeComposite("root")), framework::Hint::kQueue);
  EXPECT_EQ(hint("other", MakeComposite("root")), framework::Hint::kSkip);
  const auto pod_added = [&](const std::string& group, const std::string& added) {
    return *events.front().hint(cluster.Prepare(MakePod("a").Group(group)),
                                {nullptr, MakePod("b").Group(added).Share()});
  };
  EXPECT_EQ(pod_added("g1", "g2"), framework::Hint::kQueue);
  EXPECT_EQ(pod_added("g1", "other"), framework::Hint::kSkip);
}

}  // namespace
}  // namespace berth::plugins
