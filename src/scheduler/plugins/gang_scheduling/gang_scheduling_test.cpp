#include "scheduler/plugins/gang_scheduling/gang_scheduling.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/cluster.hpp"
#include "testing/waiting_member.hpp"

namespace berth::plugins {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeChildGroup;
using berth::testing::MakeComposite;
using berth::testing::MakeGroup;
using berth::testing::MakePod;
using berth::testing::WaitingMember;
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
       {Case{3, 0, Code::kSuccess, ""}, Case{4, 2, Code::kSuccess, ""}, Case{1, 2, Code::kWait, ""},
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

// --- members that wait ---

class GangSchedulingWaitTest : public GangSchedulingTest {
 protected:
  void PutMembers(const std::string& group, std::int32_t min_count, const std::vector<std::string>& names) {
    cluster.groups().PutObject(MakeGroup(group, min_count));
    for (const std::string& name : names) AddMember(name, group);
  }
  Code Permit(GangScheduling& of, const std::string& name, const std::string& group = "g") {
    const auto pod = MakePod(name).Uid(name).Group(group).Share();
    cluster.groups().Assume(*pod, "n1");
    const cluster::PodInfo info = cluster.Prepare(*pod);
    const std::string node = "n1";
    return of.Permit({info, node, cluster.state()}).status.code;
  }
  WaitingMember Waits(const std::string& name, const std::string& group = "g") {
    return {cluster.Prepare(MakePod(name).Uid(name).Group(group)), cluster};
  }
};

const std::vector<std::string> kByTheGang = {"GangScheduling"};

TEST_F(GangSchedulingWaitTest, TheMemberThatCompletesTheGangAllowsThoseThatWait) {
  PutMembers("g", 3, {"a", "b", "c"});
  PutMembers("other", 2, {"x"});
  const WaitingMember a = Waits("a"), b = Waits("b"), x = Waits("x", "other");
  EXPECT_EQ(Permit(*plugin, "x", "other"), Code::kWait);
  EXPECT_EQ(Permit(*plugin, "a"), Code::kWait);
  EXPECT_EQ(Permit(*plugin, "b"), Code::kWait);
  EXPECT_TRUE(a.allowed.empty());
  EXPECT_EQ(Permit(*plugin, "c"), Code::kSuccess);
  EXPECT_EQ(a.allowed, kByTheGang);
  EXPECT_EQ(b.allowed, kByTheGang);
  EXPECT_TRUE(x.allowed.empty()) << "it is of another group";
}

TEST_F(GangSchedulingWaitTest, AWaitingMemberIsAllowedOnce) {
  PutMembers("g", 2, {"a", "b", "c"});
  const WaitingMember a = Waits("a");
  Permit(*plugin, "a");
  EXPECT_EQ(Permit(*plugin, "b"), Code::kSuccess);
  EXPECT_EQ(Permit(*plugin, "c"), Code::kSuccess);
  EXPECT_EQ(a.allowed, kByTheGang);
}

TEST_F(GangSchedulingWaitTest, AMemberInOneProfileCompletesAGangThatWaitsInAnother) {
  PutMembers("g", 2, {"a", "b"});
  const auto other_profile = cluster.Make<GangScheduling>();
  const WaitingMember a = Waits("a");
  EXPECT_EQ(Permit(*plugin, "a"), Code::kWait);
  EXPECT_EQ(Permit(*other_profile, "b"), Code::kSuccess);
  EXPECT_EQ(a.allowed, kByTheGang);
}

TEST_F(GangSchedulingWaitTest, MembersKeepWaitingWhenAReloadReplacesThePlugin) {
  PutMembers("g", 2, {"a", "b"});
  const WaitingMember a = Waits("a");
  EXPECT_EQ(Permit(*plugin, "a"), Code::kWait);
  auto next = cluster.Make<GangScheduling>();
  plugin = std::move(next);
  EXPECT_EQ(Permit(*plugin, "b"), Code::kSuccess);
  EXPECT_EQ(a.allowed, kByTheGang);
}

// At the end of the process all bindings end before the plugins; a later scheduler has no member that waits.
TEST_F(GangSchedulingWaitTest, NoMemberWaitsAfterTheEndOfTheLastInstance) {
  PutMembers("g", 2, {"a", "b"});
  const WaitingMember a = Waits("a");
  EXPECT_EQ(Permit(*plugin, "a"), Code::kWait);
  plugin.reset();
  plugin = cluster.Make<GangScheduling>();
  EXPECT_EQ(Permit(*plugin, "b"), Code::kSuccess);
  EXPECT_TRUE(a.allowed.empty());
}

// When the scheduler stops, or the time-out has passed, the wait of a member ends without the plugin.
TEST_F(GangSchedulingWaitTest, AMemberWhoseWaitHasEndedIsSkipped) {
  PutMembers("g", 3, {"a", "b", "c"});
  const WaitingMember b = Waits("b");
  {
    const WaitingMember a = Waits("a");
    EXPECT_EQ(Permit(*plugin, "a"), Code::kWait);
  }
  EXPECT_EQ(Permit(*plugin, "b"), Code::kWait);
  EXPECT_EQ(Permit(*plugin, "c"), Code::kSuccess);
  EXPECT_EQ(b.allowed, kByTheGang);
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

TEST_F(GangSchedulingInTreesTest, TheMemberThatCompletesATreeAllowsThoseOfItsOtherGroups) {
  Put(MakeComposite("root", "", 2));
  Put(MakeChildGroup("g1", "root"));
  Put(MakeChildGroup("g2", "root"));
  AddMember("a", "g1");
  AddMember("b", "g2");
  const WaitingMember a(cluster.Prepare(MakePod("a").Uid("a").Group("g1")), cluster);
  const auto permit = [&](GangScheduling& of, const std::string& name, const std::string& group) {
    const auto pod = MakePod(name).Uid(name).Group(group).Share();
    cluster.groups().Assume(*pod, "n1");
    const cluster::PodInfo info = cluster.Prepare(*pod);
    const std::string node = "n1";
    return of.Permit({info, node, cluster.state()}).status.code;
  };
  const auto other_profile = cluster.Make<GangScheduling>();
  EXPECT_EQ(permit(*plugin, "a", "g1"), Code::kWait);
  EXPECT_EQ(permit(*other_profile, "b", "g2"), Code::kSuccess);
  EXPECT_EQ(a.allowed, kByTheGang);
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
