// Trees of composite groups in a complete scheduler with the feature gate CompositePodGroup.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "testing/builders.hpp"

namespace berth::cycle {
namespace {

using berth::testing::MakeChildGroup;
using berth::testing::MakeComposite;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr const char* kRackLabel = "example.com/rack";
const std::string kNoVictims = ", pod group preemption: No preemption victims found for incoming preemptor";

class GroupTreeCycleTest : public ::testing::Test, protected SchedulerEnvironment {
 protected:
  GroupTreeCycleTest() { Start("true"); }
  void Start(const std::string& composite) {
    std::vector<std::string> notes;
    const std::string gates[] = {"GenericWorkload=true", "TopologyAwareWorkloadScheduling=true",
                                 "CompositePodGroup=" + composite};
    Build(config::DefaultSchedulerConfig(config::FeatureGates::Parse(gates, notes).value()),
          assembly::InTreePlugins());
    loop.sink().OnSynced();
  }
  // A node with one CPU.
  void AddNode(const std::string& name, const std::string& rack = "") {
    auto node = MakeNode(name).Cpu("1").Memory("4Gi");
    if (!rack.empty()) node.Label(kRackLabel, rack);
    loop.sink().On(ports::Change<api::Node>{nullptr, node.Share()});
  }
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) AddNode(fmt::format("n{}", i));
  }
  void Add(const api::PodGroupPtr& group) { loop.sink().On(ports::Change<api::PodGroup>{nullptr, group}); }
  void Add(const api::CompositePodGroupPtr& group) {
    loop.sink().On(ports::Change<api::CompositePodGroup>{nullptr, group});
  }
  template <class T>
  static std::shared_ptr<const T> InOneRack(const std::shared_ptr<const T>& group) {
    auto constrained = std::make_shared<T>(*group);
    constrained->topology_key = kRackLabel;
    return constrained;
  }
  template <class T>
  static std::shared_ptr<const T> AsAUnit(const std::shared_ptr<const T>& group) {
    auto unit = std::make_shared<T>(*group);
    unit->disrupted_as_a_unit = true;
    return unit;
  }
  void Add(PodBuilder pod) {
    pod.Uid(pod.raw().metadata.name);
    loop.sink().On(ports::Change<api::Pod>{nullptr, pod.Share()});
  }
  // A member that needs more than half of a node.
  void AddMember(const std::string& name, const std::string& group, std::int32_t priority = 0) {
    Add(MakePod(name).Cpu("600m").Group(group).Priority(priority));
  }
  std::vector<std::string> Bound() const {
    std::vector<std::string> bound;
    for (const ports::Binding& binding : api.bindings) bound.push_back(binding.name);
    return bound;
  }
  std::vector<std::pair<std::string, std::string>> NotesOf(const std::string& reason) const {
    std::vector<std::pair<std::string, std::string>> notes;
    for (const ports::Event& event : events.events) {
      if (event.reason == reason) notes.emplace_back(event.regarding->metadata.name, event.note);
    }
    return notes;
  }
  // Both groups must be complete: "a" and "b" of "g1", "c" of "g2".
  void AddTwoGroupsWithThreeMembers() {
    Add(MakeComposite("root", "", 2));
    Add(MakeChildGroup("g1", "root", 2));
    Add(MakeChildGroup("g2", "root", 1));
    for (const auto* member : {"a", "b"}) AddMember(member, "g1");
    AddMember("c", "g2");
    Settle();
  }
  // By group: "reason: message" of the first condition. No later one is delivered.
  std::map<std::string, std::string> Conditions() const {
    std::map<std::string, std::string> conditions;
    for (const auto& patch : api.group_patches) {
      conditions.try_emplace(patch.current->metadata.name,
                             fmt::format("{}: {}", patch.condition.reason, patch.condition.message));
    }
    return conditions;
  }
};

TEST_F(GroupTreeCycleTest, ATreeIsBoundWhenEnoughOfItsGroupsFit) {
  AddNodes(3);
  AddTwoGroupsWithThreeMembers();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
  EXPECT_THAT(Conditions(), UnorderedElementsAre(Pair("g1", "Scheduled: "), Pair("g2", "Scheduled: ")));
}

TEST_F(GroupTreeCycleTest, NoMemberIsBoundBeforeTheTreeIsComplete) {
  AddNodes(3);
  Add(MakeComposite("root", "", 2));
  Add(MakeChildGroup("g1", "root"));
  Add(MakeChildGroup("g2", "root"));
  AddMember("a", "g1");
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(scheduler->queue().sizes().gated, 1U);
  AddMember("b", "g2");
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
}

TEST_F(GroupTreeCycleTest, ATreeThatDoesNotFitHoldsNothing) {
  AddNodes(2);
  AddTwoGroupsWithThreeMembers();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(engine->cache().assumed_count(), 0U);
  const std::string root =
      "pod group is unschedulable, 0/1 placements are available, first placement status: minCount (2) cannot "
      "be satisfied: 1 scheduled, 0 remaining";
  EXPECT_THAT(NotesOf("FailedScheduling"),
              UnorderedElementsAre(Pair("a", root), Pair("b", root),
                                   Pair("c", "0/2 nodes are available: 2 Insufficient cpu.")));
  EXPECT_THAT(Conditions(),
              UnorderedElementsAre(
                  // The texts of preemption are in the status of the root once for each group that shares it.
                  Pair("g1", "Unschedulable: " + root + kNoVictims + kNoVictims),
                  Pair("g2",
                       "Unschedulable: pod group is unschedulable, 0/1 placements are available, first "
                       "placement status: minCount (1) cannot be satisfied: 0 scheduled, 0 remaining" +
                           kNoVictims)));
  Add(MakePod("single").Cpu("900m"));
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("single")) << "the nodes are free for other pods";
}

TEST_F(GroupTreeCycleTest, TheRecordOfAMemberHasTheGroupsOfItsTree) {
  AddNodes(2);
  AddTwoGroupsWithThreeMembers();
  const auto record = scheduler->records().Latest("default/a");
  ASSERT_NE(record, nullptr);
  ASSERT_NE(record->group, nullptr);
  ASSERT_NE(record->group->tree, nullptr);
  const record::GroupTreeRecord& tree = *record->group->tree;
  using Verdict = record::GroupTreeRecord::Verdict;
  EXPECT_EQ(tree.fails_at, "default/g2");
  ASSERT_EQ(tree.groups.size(), 3U);
  EXPECT_EQ(tree.groups[0].verdict, Verdict::kFails);
  EXPECT_EQ(tree.groups[0].placed, 1U);
  EXPECT_EQ(tree.groups[0].failed, 1U);
  EXPECT_EQ(tree.groups[1].verdict, Verdict::kStarts) << "whatever the groups above it do";
  EXPECT_EQ(tree.groups[1].placed, 2U);
  EXPECT_EQ(tree.groups[2].verdict, Verdict::kFails);
  ASSERT_EQ(tree.groups[2].reasons.size(), 1U);
  EXPECT_EQ(tree.groups[2].reasons[0].message, "0/2 nodes are available: 2 Insufficient cpu.");
  EXPECT_EQ(scheduler->records().Latest("default/c")->group->tree, record->group->tree) << "shared";
}

TEST_F(GroupTreeCycleTest, TheRecordOfALargeTreeIsLimited) {
  AddNodes(1);
  Add(MakeComposite("root", "", 100));
  for (int i = 0; i < 100; ++i) {
    Add(MakeChildGroup(fmt::format("g{}", i), "root"));
    AddMember(fmt::format("m{}", i), fmt::format("g{}", i));
  }
  Settle();
  const auto record = scheduler->records().Latest("default/m0");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->group->tree->groups.size(), record::GroupTreeRecord::kGroupsMax);
  EXPECT_EQ(record->group->tree->more_groups, 101 - record::GroupTreeRecord::kGroupsMax);
}

TEST_F(GroupTreeCycleTest, AGroupThatFailsLeavesItsNodesToTheNextOne) {
  AddNodes(2);
  Add(MakeComposite("root"));
  Add(MakeChildGroup("g1", "root", 3));
  Add(MakeChildGroup("g2", "root", 2));
  for (const auto* member : {"a", "b", "c"}) AddMember(member, "g1");
  for (const auto* member : {"d", "e"}) AddMember(member, "g2");
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("d", "e"));
  EXPECT_THAT(Conditions(), IsSupersetOf({Pair("g2", "Scheduled: ")}));
}

TEST_F(GroupTreeCycleTest, ACompositeGroupThatFailsLeavesTheNodesOfAllItsGroups) {
  AddNodes(2);
  Add(MakeComposite("root"));
  Add(MakeComposite("a-middle", "root", 2));
  Add(MakeChildGroup("m1", "a-middle"));
  Add(MakeChildGroup("m2", "a-middle", 2));
  Add(MakeChildGroup("g", "root", 2));
  AddMember("x", "m1");
  for (const auto* member : {"y", "z"}) AddMember(member, "m2");
  for (const auto* member : {"d", "e"}) AddMember(member, "g");
  Settle();
  EXPECT_THAT(Bound(), UnorderedElementsAre("d", "e"));
}

TEST_F(GroupTreeCycleTest, GroupsAreTriedByTimeOfCreation) {
  AddNodes(1);
  Add(MakeComposite("root"));
  const auto created = [](const api::PodGroupPtr& group, const char* at) {
    auto copy = std::make_shared<api::PodGroup>(*group);
    copy->creation_timestamp = at;
    return api::PodGroupPtr(std::move(copy));
  };
  Add(created(MakeChildGroup("a-late", "root"), "2026-01-01T00:00:02Z"));
  Add(created(MakeChildGroup("b-early", "root"), "2026-01-01T00:00:01Z"));
  AddMember("late", "a-late");
  AddMember("early", "b-early");
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("early"));
}

TEST_F(GroupTreeCycleTest, APlacementOfTheRootHoldsAllGroups) {
  AddNode("n1", "rack-a");
  AddNode("n2", "rack-b");
  AddNode("n3", "rack-b");
  Add(InOneRack(MakeComposite("root", "", 2)));
  Add(MakeChildGroup("g1", "root"));
  Add(MakeChildGroup("g2", "root"));
  AddMember("a", "g1");
  AddMember("b", "g2");
  Settle();
  ASSERT_THAT(Bound(), UnorderedElementsAre("a", "b"));
  for (const auto& binding : api.bindings) EXPECT_NE(binding.node, "n1");
}

TEST_F(GroupTreeCycleTest, AGroupStaysInThePlacementOfTheOneAboveIt) {
  for (const auto* node : {"n1", "n2"}) AddNode(node, "rack-a");
  for (const auto* node : {"n3", "n4"}) AddNode(node, "rack-b");
  Add(MakeComposite("root", "", 2));
  Add(InOneRack(MakeComposite("middle", "root", 2)));
  Add(InOneRack(MakeChildGroup("g1", "middle", 1)));
  Add(MakeChildGroup("g2", "middle", 1));
  Add(InOneRack(MakeChildGroup("g3", "root", 2)));
  AddMember("a", "g1");
  AddMember("b", "g2");
  for (const auto* member : {"c", "d"}) AddMember(member, "g3");
  Settle();
  ASSERT_THAT(Bound(), UnorderedElementsAre("a", "b", "c", "d"));
  std::map<std::string, std::string> node;
  for (const auto& binding : api.bindings) node[binding.name] = binding.node;
  const auto rack = [&](const std::string& pod) { return node[pod] < "n3" ? "a" : "b"; };
  EXPECT_STREQ(rack("a"), rack("b"));
  EXPECT_STREQ(rack("c"), rack("d"));
  EXPECT_STRNE(rack("a"), rack("c"));
}

TEST_F(GroupTreeCycleTest, MembersWithAnotherPriorityThanTheRootFailWithAllGroups) {
  AddNodes(2);
  Add(MakeComposite("root", "", 2, 5));
  Add(MakeChildGroup("g1", "root"));
  Add(MakeChildGroup("g2", "root"));
  AddMember("a", "g1", 5);
  AddMember("b", "g2", 4);
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  const std::string why =
      "all pods in a single pod group should have the same priority as the pod group's priority, got 4 and 5";
  EXPECT_THAT(NotesOf("FailedScheduling"), Contains(Pair("a", why)));
  EXPECT_THAT(Conditions(), UnorderedElementsAre(Pair("g1", "SchedulerError: " + why),
                                                 Pair("g2", "SchedulerError: " + why)));
}

TEST_F(GroupTreeCycleTest, ATreeEvictsForAllItsMembers) {
  AddNodes(2);
  for (int i = 0; i < 2; ++i) Add(MakePod(fmt::format("low{}", i)).Cpu("600m").OnNode(fmt::format("n{}", i)));
  Add(MakeComposite("root", "", 2, 10));
  Add(MakeChildGroup("g1", "root"));
  Add(MakeChildGroup("g2", "root"));
  AddMember("a", "g1", 10);
  AddMember("b", "g2", 10);
  Settle();
  EXPECT_THAT(NotesOf("Preempted"),
              UnorderedElementsAre(Pair("low0", "Preempted by compositepodgroup uid-root on node cluster"),
                                   Pair("low1", "Preempted by compositepodgroup uid-root on node cluster")));
  EXPECT_THAT(Conditions()["g1"],
              HasSubstr("pod group preemption: found a placement for podgroup, preempting 2 victims"));
}

TEST_F(GroupTreeCycleTest, TheHighestGroupThatIsDisruptedAsAWholeIsEvictedAsAWhole) {
  AddNodes(3);
  Add(AsAUnit(MakeComposite("victims")));
  Add(AsAUnit(MakeChildGroup("v1", "victims")));
  Add(MakeChildGroup("v2", "victims"));
  Add(MakePod("x").Cpu("600m").OnNode("n0").Group("v1"));
  Add(MakePod("y").Cpu("600m").OnNode("n1").Group("v2"));
  Add(MakePod("z").Cpu("600m").OnNode("n2").Priority(20));
  Add(MakePod("urgent").Cpu("600m").Priority(10));
  Settle();
  EXPECT_THAT(NotesOf("Preempted"), UnorderedElementsAre(Pair("x", ::testing::_), Pair("y", ::testing::_)));
}

TEST_F(GroupTreeCycleTest, AVictimHasThePriorityOfTheRootOfItsTree) {
  AddNodes(1);
  Add(MakeComposite("root", "", std::nullopt, 20));
  Add(MakeChildGroup("g", "root"));
  Add(MakePod("x").Cpu("600m").OnNode("n0").Group("g"));
  Add(MakePod("urgent").Cpu("600m").Priority(10));
  Settle();
  EXPECT_THAT(NotesOf("Preempted"), IsEmpty());
}

TEST_F(GroupTreeCycleTest, WithoutTheGateAParentHasNoEffect) {
  Start("false");
  AddNodes(1);
  Add(MakeChildGroup("g", "unknown"));
  AddMember("a", "g");
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("a"));
}

}  // namespace
}  // namespace berth::cycle
