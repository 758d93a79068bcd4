// Pod groups with topology constraints in a complete scheduler.
#include <fmt/format.h>
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
using ::testing::UnorderedElementsAre;

constexpr const char* kRack = "example.com/rack";

class GroupPlacementTest : public ::testing::Test, protected SchedulerEnvironment {
 protected:
  GroupPlacementTest() { Reset(); }
  // A new scheduler without objects.
  void Reset() {
    std::vector<std::string> notes;
    const std::string on[] = {"GenericWorkload=true", "TopologyAwareWorkloadScheduling=true"};
    Build(config::DefaultSchedulerConfig(config::FeatureGates::Parse(on, notes).value()),
          assembly::InTreePlugins());
    loop.sink().OnSynced();
  }
  // A node with one CPU in this rack; empty: in none.
  void AddNode(const std::string& name, const std::string& rack, const std::string& cpu = "1") {
    auto node = MakeNode(name).Cpu(cpu).Memory("4Gi");
    if (!rack.empty()) node.Label(kRack, rack);
    loop.sink().On(ports::Change<api::Node>{nullptr, node.Share()});
  }
  void AddGroup(std::optional<std::int32_t> min_count, const std::string& key = kRack,
                std::int32_t priority = 0) {
    auto group = std::make_shared<api::PodGroup>(*MakeGroup("g", min_count, priority));
    group->topology_key = key;
    loop.sink().On(ports::Change<api::PodGroup>{nullptr, std::shared_ptr<const api::PodGroup>(group)});
  }
  api::PodPtr Add(PodBuilder pod) {
    const api::PodPtr shared = pod.Uid(pod.raw().metadata.name).Share();
    loop.sink().On(ports::Change<api::Pod>{nullptr, shared});
    return shared;
  }
  void AddMembers(int count, const std::string& cpu = "600m", std::int32_t priority = 0) {
    for (int i = 0; i < count; ++i)
      Add(MakePod(fmt::format("m{}", i)).Cpu(cpu).Group("g").Priority(priority));
  }
  std::vector<std::string> Nodes() const {
    std::vector<std::string> nodes;
    for (const ports::Binding& binding : api.bindings) nodes.push_back(binding.node);
    return nodes;
  }
  const api::PodGroupCondition& Condition() const { return api.group_patches.back().condition; }
  std::string NoteOf(const std::string& pod) const {
    std::string note;
    for (const ports::Event& event : events.events) {
      if (event.reason == "FailedScheduling" && event.regarding->metadata.name == pod) note = event.note;
    }
    return note;
  }
  std::string Metric(const std::string& line) const {
    const std::string all = metrics.Expose();
    const auto at = all.find("\n" + line + " ");
    return at == std::string::npos
               ? ""
               : all.substr(at + line.size() + 2, all.find('\n', at + 1) - at - line.size() - 2);
  }
};

TEST_F(GroupPlacementTest, AllMembersGoToOneDomain) {
  AddNode("a0", "a");
  AddNode("b0", "b");
  AddNode("b1", "b");
  AddNode("c0", "c");
  AddGroup(2);
  AddMembers(2);
  Settle();
  EXPECT_THAT(Nodes(), UnorderedElementsAre("b0", "b1"));
  EXPECT_EQ(Condition().status, "True");
  EXPECT_EQ(Metric("scheduler_generated_placements_total{profile=\"default-scheduler\"}"), "3");
  EXPECT_EQ(
      Metric("scheduler_placement_evaluations_total{profile=\"default-scheduler\",result=\"feasible\"}"),
      "1");
  EXPECT_EQ(
      Metric("scheduler_placement_evaluations_total{profile=\"default-scheduler\",result=\"infeasible\"}"),
      "2");
}

TEST_F(GroupPlacementTest, TheRecordCountsThePlacementsInWhichTheGroupFits) {
  struct Case {
    const char* name;
    int members;
    std::string chosen;
    std::size_t feasible;
  };
  for (const Case& c : {Case{"one rack has room", 2, "b", 1}, Case{"no rack has room", 3, "", 0}}) {
    SCOPED_TRACE(c.name);
    Reset();
    AddNode("a0", "a");
    AddNode("b0", "b");
    AddNode("b1", "b");
    AddGroup(c.members);
    AddMembers(c.members);
    Settle();
    const auto record = scheduler->records().Latest("default/m0");
    ASSERT_NE(record, nullptr);
    ASSERT_TRUE(record->group->placement);
    EXPECT_EQ(record->group->placement->name, c.chosen);
    EXPECT_EQ(record->group->placement->evaluated, 2U);
    EXPECT_EQ(record->group->placement->feasible, c.feasible);
  }
}

TEST_F(GroupPlacementTest, TheRecordsOfTheChosenPlacementHaveScores) {
  for (const auto* rack : {"a", "b", "c"}) {
    for (int i = 0; i < 3; ++i) AddNode(fmt::format("{}{}", rack, i), rack, "4");
  }
  AddGroup(2);
  AddMembers(2);
  Settle();
  const std::vector<std::string> nodes = Nodes();
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0][0], nodes[1][0]) << "one rack";
  for (const auto* pod : {"default/m0", "default/m1"}) {
    const auto record = scheduler->records().Latest(pod);
    ASSERT_NE(record, nullptr);
    EXPECT_TRUE(record->scored);
    EXPECT_FALSE(record->scores.plugins().empty());
    EXPECT_THAT(nodes, Contains(record->nodes->by_row[record->node]));
  }
  const auto& placement = scheduler->records().Latest("default/m0")->group->placement;
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->name, std::string(1, nodes[0][0]));
  EXPECT_EQ(placement->evaluated, 3U);
  EXPECT_EQ(placement->feasible, 3U);
}

TEST_F(GroupPlacementTest, NodesWithoutTheLabelAreInNoPlacement) {
  AddNode("none0", "");
  AddNode("none1", "");
  AddGroup(2);
  AddMembers(2);
  Settle();
  EXPECT_THAT(Nodes(), IsEmpty());
  EXPECT_EQ(Condition().message,
            "no feasible placements found, pod group preemption: No preemption victims found for incoming "
            "preemptor");
}

TEST_F(GroupPlacementTest, AGroupThatFitsIntoNoDomainIsRejectedWithTheTextOfTheFirst) {
  AddNode("a0", "a");
  AddNode("b0", "b");
  AddGroup(2);
  AddMembers(2);
  Settle();
  EXPECT_THAT(Nodes(), IsEmpty());
  const std::string group =
      "pod group is unschedulable, 0/2 placements are available, first placement status: minCount (2) cannot "
      "be "
      "satisfied: 1 scheduled, 0 remaining";
  EXPECT_EQ(Condition().message,
            group + ", pod group preemption: No preemption victims found for incoming preemptor");
  EXPECT_EQ(NoteOf("m1"), "0/1 nodes are available: 1 Insufficient cpu.") << "nodes of the placement count";
  EXPECT_EQ(NoteOf("m0"), "pod group is unschedulable, " + Condition().message);
}

TEST_F(GroupPlacementTest, WithoutAConstraintThereIsOnePlacement) {
  AddNode("a0", "a");
  AddNode("b0", "b");
  AddGroup(2, "");
  AddMembers(2);
  Settle();
  EXPECT_THAT(Nodes(), UnorderedElementsAre("a0", "b0"));
}

TEST_F(GroupPlacementTest, MembersThatAreScheduledDetermineTheDomain) {
  AddNode("a0", "a", "8");
  AddNode("b0", "b", "1");  // would be fuller
  AddGroup(std::nullopt);
  Add(MakePod("first").Cpu("600m").Group("g").OnNode("a0"));
  AddMembers(1);
  Settle();
  EXPECT_THAT(Nodes(), ElementsAre("a0"));
}

TEST_F(GroupPlacementTest, MembersInTwoDomainsAreAnError) {
  AddNode("a0", "a", "2");
  AddNode("b0", "b", "2");
  AddGroup(std::nullopt);
  Add(MakePod("x").Cpu("600m").Group("g").OnNode("a0"));
  Add(MakePod("y").Cpu("600m").Group("g").OnNode("b0"));
  AddMembers(1);
  Settle();
  EXPECT_THAT(Nodes(), IsEmpty());
  EXPECT_EQ(Condition().reason, "SchedulerError");
  EXPECT_EQ(
      Condition().message,
      "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: a, b");
}

TEST_F(GroupPlacementTest, TheDomainWithRoomForMoreMembersIsPreferred) {
  AddNode("a0", "a");
  AddNode("b0", "b");
  AddNode("b1", "b");
  AddNode("b2", "b");
  AddGroup(1);
  AddMembers(3);
  Settle();
  EXPECT_THAT(Nodes(), UnorderedElementsAre("b0", "b1", "b2"));
}

TEST_F(GroupPlacementTest, OfDomainsWithRoomForAllTheFullestIsPreferred) {
  for (const auto* rack : {"a", "b", "c"}) {
    AddNode(fmt::format("{}0", rack), rack, "4");
    AddNode(fmt::format("{}1", rack), rack, "4");
  }
  Add(MakePod("filler").Cpu("2").Memory("2Gi").OnNode("b1"));
  AddGroup(2);
  AddMembers(2, "500m");
  Settle();
  for (const std::string& node : Nodes()) EXPECT_EQ(node[0], 'b') << node;
  EXPECT_THAT(Nodes(), ::testing::SizeIs(2));
}

TEST_F(GroupPlacementTest, PreemptionMakesRoomInOneDomain) {
  AddNode("a0", "a");
  AddNode("b0", "b");
  AddNode("b1", "b");
  Add(MakePod("low").Cpu("600m").OnNode("b1"));
  AddGroup(2, kRack, 10);
  AddMembers(2, "600m", 10);
  Settle();
  ASSERT_THAT(api.deletions, ::testing::SizeIs(1));
  EXPECT_EQ(api.deletions[0].name, "low");
}

TEST_F(GroupPlacementTest, PodsOutsideOfThePlacementCountForAffinity) {
  AddNode("a0", "a");
  AddNode("b0", "b");
  const auto against = [] {
    api::PodAffinityTerm term;
    term.topology_key = "everywhere";
    term.label_selector.emplace().match_labels = {{"app", "x"}};
    return term;
  };
  for (const auto* name : {"a0", "b0"}) {
    auto node =
        MakeNode(name).Cpu("1").Memory("4Gi").Label(kRack, std::string(1, name[0])).Label("everywhere", "1");
    loop.sink().On(ports::Change<api::Node>{nullptr, node.Share()});
  }
  Add(MakePod("x").Label("app", "x").OnNode("b0"));
  AddGroup(1);
  PodBuilder member = MakePod("m").Group("g");
  member.raw().spec.pod_anti_affinity.emplace().required = {against()};
  Add(member);
  Settle();
  EXPECT_THAT(Nodes(), IsEmpty()) << "x is in another rack, but in the same domain of the term";
}

}  // namespace
}  // namespace berth::cycle
