// Pod groups in a complete scheduler with the feature gate GenericWorkload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "testing/builders.hpp"

namespace berth::cycle {
namespace {

using berth::testing::MakeGroup;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

config::SchedulerConfig GroupConfig() {
  std::vector<std::string> notes;
  const std::string on[] = {"GenericWorkload=true"};
  return config::DefaultSchedulerConfig(config::FeatureGates::Parse(on, notes).value());
}

class GroupCycleTest : public ::testing::Test, protected SchedulerEnvironment {
 protected:
  GroupCycleTest() {
    Build(GroupConfig(), assembly::InTreePlugins());
    loop.sink().OnSynced();
  }

  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) {
      auto node = std::make_shared<const api::Node>(MakeNode("n" + std::to_string(i)).Cpu("1").Memory("4Gi"));
      loop.sink().On(ports::Change<api::Node>{nullptr, node});
    }
  }
  void AddGroup(const api::PodGroupPtr& group) {
    loop.sink().On(ports::Change<api::PodGroup>{nullptr, group});
  }
  api::PodPtr AddPod(PodBuilder pod) {
    const api::PodPtr shared = pod.Uid(pod.raw().metadata.name).Share();
    loop.sink().On(ports::Change<api::Pod>{nullptr, shared});
    return shared;
  }
  // A member that needs more than half of a node.
  api::PodPtr AddMember(const std::string& name, const std::string& group = "g") {
    return AddPod(MakePod(name).Cpu("600m").Group(group));
  }
  std::vector<std::string> Bound() const {
    std::vector<std::string> bound;
    for (const ports::Binding& binding : api.bindings) bound.push_back(binding.name);
    return bound;
  }
  std::vector<std::pair<std::string, std::string>> Failures() const {
    std::vector<std::pair<std::string, std::string>> failures;
    for (const ports::Event& event : events.events) {
      if (event.reason == "FailedScheduling")
        failures.emplace_back(event.regarding->metadata.name, event.note);
    }
    return failures;
  }
  const api::PodGroupCondition& Condition() const { return api.group_patches.back().condition; }
};

TEST_F(GroupCycleTest, AGangIsBoundWhenAllItsMembersFit) {
  AddNodes(3);
  AddGroup(MakeGroup("g", 3));
  for (const auto* name : {"a", "b", "c"}) AddMember(name);
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
  ASSERT_THAT(api.group_patches, SizeIs(1));
  EXPECT_EQ(Condition().type, "PodGroupInitiallyScheduled");
  EXPECT_EQ(Condition().status, "True");
  EXPECT_EQ(Condition().reason, "Scheduled");
}

TEST_F(GroupCycleTest, NoMemberIsBoundBeforeMinCountMembersExist) {
  AddNodes(3);
  AddGroup(MakeGroup("g", 2));
  AddMember("a");
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(scheduler->queue().sizes().gated, 1U);
  AddMember("b");
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
}

TEST_F(GroupCycleTest, AGangThatDoesNotFitHoldsNothing) {
  AddNodes(2);
  AddGroup(MakeGroup("g", 3));
  for (const auto* name : {"p1", "p2", "p3"}) AddMember(name);
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(engine->cache().assumed_count(), 0U);
  const std::string group =
      "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining, pod group preemption: No preemption "
      "victims found "
      "for incoming preemptor";
  EXPECT_THAT(Failures(), ElementsAre(Pair("p1", "pod group is unschedulable, " + group),
                                      Pair("p2", "pod group is unschedulable, " + group),
                                      Pair("p3", "0/2 nodes are available: 2 Insufficient cpu.")));
  EXPECT_EQ(Condition().status, "False");
  EXPECT_EQ(Condition().reason, "Unschedulable");
  EXPECT_EQ(Condition().message, group);
  AddPod(MakePod("single").Cpu("900m"));
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("single")) << "the nodes are free for other pods";
}

TEST_F(GroupCycleTest, TheSearchStopsWhenMinCountCannotBeReached) {
  AddNodes(1);
  AddGroup(MakeGroup("g", 3));
  for (const auto* name : {"p1", "p2", "p3", "p4"}) AddMember(name);
  Settle();
  const std::string reason = "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining";
  const std::string group =
      reason + ", pod group preemption: No preemption victims found for incoming preemptor";
  EXPECT_THAT(Failures(),
              ElementsAre(Pair("p1", "pod group is unschedulable, " + group),
                          Pair("p2", "0/1 nodes are available: 1 Insufficient cpu."),
                          Pair("p3", "0/1 nodes are available: 1 Insufficient cpu."), Pair("p4", reason)))
      << "the last member is not tried";
}

TEST_F(GroupCycleTest, MembersBeyondMinCountThatDoNotFitStayPending) {
  AddNodes(2);
  AddGroup(MakeGroup("g", 2));
  for (const auto* name : {"a", "b", "c"}) AddMember(name);
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(Failures(), Contains(Pair("c", "0/2 nodes are available: 2 Insufficient cpu.")))
      << "tried again";
  EXPECT_THAT(api.group_patches, SizeIs(1)) << "not set back although the watch has not delivered it yet";
  EXPECT_EQ(Condition().status, "True");
}

TEST_F(GroupCycleTest, AGroupThatIsCreatedAgainGetsItsOwnCondition) {
  AddNodes(2);
  AddGroup(MakeGroup("g", 2));
  for (const auto* name : {"a", "b"}) AddMember(name);
  Settle();
  ASSERT_EQ(Condition().status, "True");
  auto again = std::make_shared<api::PodGroup>(*MakeGroup("g", 2));
  again->metadata.uid = "another";
  loop.sink().On(ports::Change<api::PodGroup>{MakeGroup("g", 2), nullptr});
  AddGroup(again);
  for (const auto* name : {"c", "d"}) AddMember(name);
  Settle();
  EXPECT_EQ(Condition().status, "False");
}

// kube-scheduler looks up nominated pods in its queue, which does not contain the members of the group that
// is being scheduled.
TEST_F(GroupCycleTest, ANominationReservesNothingAgainstOtherMembers) {
  AddNodes(1);
  AddGroup(MakeGroup("g"));
  AddMember("first");
  AddPod(MakePod("nominated").Cpu("600m").Group("g").Nominated("n0"));
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("first"));
}

TEST_F(GroupCycleTest, ABasicGroupIsScheduledWithAnyNumberOfMembers) {
  AddNodes(1);
  AddGroup(MakeGroup("g"));
  for (const auto* name : {"a", "b"}) AddMember(name);
  Settle();
  EXPECT_THAT(Bound(), SizeIs(1));
}

TEST_F(GroupCycleTest, AFailedGroupIsRetriedAfterItsBackoffWithoutAnEvent) {
  AddNodes(1);
  AddGroup(MakeGroup("g", 2));
  AddMember("a");
  AddMember("b");
  Settle();
  AddNodes(2);  // replaces n0 and adds n1; events do not requeue groups
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  Wait(std::chrono::seconds(2));
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
}

TEST_F(GroupCycleTest, TheMembersMustAgreeWithTheGroup) {
  struct Case {
    std::string name;
    PodBuilder odd;
    std::string message;
  };
  PodBuilder never = MakePod("odd").Group("g");
  never.raw().spec.never_preempts = true;
  for (const Case& c :
       {Case{
            "priority", MakePod("odd").Group("g").Priority(7),
            "all pods in a single pod group should have the same priority as the pod group's priority, got 7 "
            "and 0"},
        Case{"preemption policy", never,
             "all pods in a single pod group should have the same preemption policy, got Never and "
             "PreemptLowerPriority"}}) {
    SCOPED_TRACE(c.name);
    events.events.clear();
    Build(GroupConfig(), assembly::InTreePlugins());
    loop.sink().OnSynced();
    AddNodes(3);
    AddGroup(MakeGroup("g", 2));
    AddPod(MakePod("a").Group("g"));
    AddPod(c.odd);
    Settle();
    EXPECT_THAT(Bound(), IsEmpty());
    EXPECT_THAT(Failures(), UnorderedElementsAre(Pair("a", c.message), Pair("odd", c.message)));
    EXPECT_EQ(Condition().reason, "SchedulerError");
    EXPECT_EQ(Condition().message, c.message);
  }
}

TEST_F(GroupCycleTest, WithoutTheGateMembersAreOrdinaryPods) {
  Build(config::DefaultSchedulerConfig(), assembly::InTreePlugins());
  loop.sink().OnSynced();
  AddNodes(1);
  AddMember("a");
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("a"));
}

TEST_F(GroupCycleTest, AMemberOfAScheduledGroupIsNotHeldUpByTheOthers) {
  AddNodes(3);
  AddGroup(MakeGroup("g", 2));
  AddMember("a");
  AddMember("b");
  Settle();
  AddMember("c");
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
}

TEST_F(GroupCycleTest, ADeletedMemberIsNotScheduled) {
  AddNodes(2);
  AddGroup(MakeGroup("g", 2));
  AddMember("a");
  Settle();
  const api::PodPtr b = AddMember("b");
  loop.sink().On(ports::Change<api::Pod>{b, nullptr});
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  AddMember("c");
  Wait(std::chrono::seconds(2));  // the group was tried without the deleted member
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "c"));
}

TEST_F(GroupCycleTest, ATerminatingMemberThatIsBeingBoundIsNoLongerScheduled) {
  AddNodes(2);
  AddGroup(MakeGroup("g", 2));
  const api::PodPtr a = AddMember("a");
  AddMember("b");
  api.hold = true;
  Settle();
  ASSERT_EQ(engine->handle().groups.Find("default/g")->scheduled, 2U);
  auto terminating = std::make_shared<api::Pod>(*a);
  terminating->metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  loop.sink().On(ports::Change<api::Pod>{a, terminating});
  Settle();
  EXPECT_EQ(engine->handle().groups.Find("default/g")->scheduled, 1U);
}

// --- the decision record ---

TEST_F(GroupCycleTest, TheRecordsOfAllMembersTellTheFailureOfTheGroup) {
  AddNodes(1);
  AddGroup(MakeGroup("g", 3));
  for (const auto* name : {"p1", "p2", "p3", "p4"}) AddMember(name);
  Settle();
  for (const auto* pod : {"default/p1", "default/p2", "default/p3", "default/p4"}) {
    const auto record = scheduler->records().Latest(pod);
    ASSERT_NE(record, nullptr) << pod;
    ASSERT_NE(record->group, nullptr) << pod;
    EXPECT_EQ(record->result, record::Result::kUnschedulable);
    const record::GroupRecord& group = *record->group;
    EXPECT_EQ(group.group, "default/g");
    EXPECT_EQ(group.result, record::Result::kUnschedulable);
    EXPECT_EQ(group.message, Condition().message);
    EXPECT_EQ(group.min_count, 3);
    EXPECT_EQ(group.scheduled, 0U);
    EXPECT_EQ(group.pending, 4U);
    EXPECT_EQ(group.placed, 1U);
    EXPECT_EQ(group.failed, 2U);
    EXPECT_EQ(group.not_tried, 1U);
    ASSERT_THAT(group.failures, SizeIs(2));
    EXPECT_EQ(group.failures[0].pod, "default/p2");
    EXPECT_EQ(group.failures[0].message, "0/1 nodes are available: 1 Insufficient cpu.");
    EXPECT_FALSE(group.placement);
    EXPECT_FALSE(group.waits_for_evictions);
  }
  EXPECT_EQ(scheduler->records().Latest("default/p4")->message,
            "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining");
}

TEST_F(GroupCycleTest, TheRecordOfAScheduledGroupCountsItsMembers) {
  AddNodes(3);
  AddGroup(MakeGroup("g", 2));
  AddMember("a");
  AddMember("b");
  Settle();
  AddMember("c");
  AddMember("d");
  Settle();
  const auto record = scheduler->records().Latest("default/c");
  ASSERT_NE(record, nullptr);
  ASSERT_NE(record->group, nullptr);
  EXPECT_EQ(record->group->result, record::Result::kScheduled);
  EXPECT_EQ(record->group->scheduled, 2U);
  EXPECT_EQ(record->group->placed, 1U);
  EXPECT_EQ(record->group->failed, 1U);
  AddPod(MakePod("single").Cpu("100m"));
  Settle();
  EXPECT_EQ(scheduler->records().Latest("default/single")->group, nullptr);
}

TEST_F(GroupCycleTest, TheRecordNamesALimitedNumberOfFailures) {
  AddNodes(1);
  AddGroup(MakeGroup("g"));
  for (int i = 0; i < 40; ++i) AddMember("m" + std::to_string(i));
  Settle();
  const auto record = scheduler->records().Latest("default/m0");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->group->failed, 39U);
  EXPECT_THAT(record->group->failures, SizeIs(record::GroupRecord::kFailuresMax));
}

}  // namespace
}  // namespace berth::cycle
