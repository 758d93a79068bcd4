// Preemption by pod groups and of pod groups in a complete scheduler.
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
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class GroupPreemptionTest : public ::testing::Test, protected SchedulerEnvironment {
 protected:
  GroupPreemptionTest() { Start({}); }
  void Start(std::vector<std::string> gates) {
    gates.emplace_back("GenericWorkload=true");
    std::vector<std::string> notes;
    Build(config::DefaultSchedulerConfig(config::FeatureGates::Parse(gates, notes).value()),
          assembly::InTreePlugins());
    loop.sink().OnSynced();
  }
  // Each node has one CPU.
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("n{}", i);
      loop.sink().On(ports::Change<api::Node>{
          nullptr, MakeNode(name).Cpu("1").Memory("4Gi").Label("kubernetes.io/hostname", name).Share()});
    }
  }
  void AddGroup(const api::PodGroupPtr& group) {
    loop.sink().On(ports::Change<api::PodGroup>{nullptr, group});
  }
  static api::PodGroupPtr AsAUnit(const api::PodGroupPtr& group) {
    auto unit = std::make_shared<api::PodGroup>(*group);
    unit->disrupted_as_a_unit = true;
    return unit;
  }
  api::PodPtr Add(PodBuilder pod) {
    const api::PodPtr shared = pod.Uid(pod.raw().metadata.name).Share();
    loop.sink().On(ports::Change<api::Pod>{nullptr, shared});
    return shared;
  }
  static PodBuilder Low(const std::string& name, const std::string& node, const std::string& cpu = "600m") {
    return MakePod(name).Cpu(cpu).OnNode(node);
  }
  static PodBuilder Started(PodBuilder pod, std::int64_t at) {
    pod.raw().status.start_time = at;
    return pod;
  }
  static PodBuilder Member(const std::string& name) {
    return MakePod(name).Cpu("600m").Priority(10).Group("g");
  }
  // A gang of priority 10, each of whose members needs more than half of a node.
  void AddGang(std::initializer_list<const char*> members) {
    AddGroup(MakeGroup("g", static_cast<int>(members.size()), 10));
    for (const char* name : members) Add(Member(name));
  }
  void Remove(const api::PodPtr& pod) {
    loop.sink().On(ports::Change<api::Pod>{pod, nullptr});
    Settle();
  }

  std::vector<std::string> Bound() const {
    std::vector<std::string> bound;
    for (const ports::Binding& binding : api.bindings) bound.push_back(binding.name);
    return bound;
  }
  std::vector<std::string> Deleted() const {
    std::vector<std::string> names;
    for (const auto& deletion : api.deletions) names.push_back(deletion.name);
    return names;
  }
  // The nominations that were written, by pod.
  std::vector<std::pair<std::string, std::string>> Nominated() const {
    std::vector<std::pair<std::string, std::string>> nominated;
    for (const auto& patch : api.patches) {
      if (patch.nomination && !patch.nomination->empty())
        nominated.emplace_back(patch.name, *patch.nomination);
    }
    return nominated;
  }
  std::vector<std::pair<std::string, std::string>> NotesOf(const std::string& reason) const {
    std::vector<std::pair<std::string, std::string>> notes;
    for (const ports::Event& event : events.events) {
      if (event.reason == reason) notes.emplace_back(event.regarding->metadata.name, event.note);
    }
    return notes;
  }
  const std::string& Message() const { return api.group_patches.back().condition.message; }
};

constexpr const char* kShort = "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining";

TEST_F(GroupPreemptionTest, AGangEvictsPodsOfLowerPriorityAndWaitsForThem) {
  AddNodes(2);
  const api::PodPtr low = Add(Low("low", "n0"));
  AddGang({"a", "b"});
  Settle();
  const std::string group =
      std::string(kShort) + ", pod group preemption: found a placement for podgroup, preempting 1 victims";
  EXPECT_THAT(Deleted(), ElementsAre("low"));
  EXPECT_EQ(Message(), group);
  EXPECT_EQ(api.group_patches.back().condition.reason, "Unschedulable");
  EXPECT_THAT(NotesOf("FailedScheduling"),
              ElementsAre(Pair("a", group), Pair("b", "0/2 nodes are available: 2 Insufficient cpu.")));
  EXPECT_THAT(NotesOf("Preempted"), ElementsAre(Pair("low", "Preempted by podgroup uid-g on node cluster")));
  const ports::Event& preempted = *std::ranges::find(events.events, "Preempted", &ports::Event::reason);
  ASSERT_TRUE(preempted.related);
  EXPECT_EQ(preempted.related->kind, "PodGroup");
  EXPECT_EQ(preempted.related->api_version, "scheduling.k8s.io/v1beta1");
  EXPECT_EQ(preempted.related->name, "g");
  EXPECT_EQ(api.patches.front().message,
            "default-scheduler: preempting to accommodate a higher priority podgroup");
  EXPECT_THAT(Nominated(), UnorderedElementsAre(Pair("a", ::testing::_), Pair("b", ::testing::_)));
  EXPECT_EQ(engine->cache().assumed_count(), 0U);
  EXPECT_THAT(Bound(), IsEmpty());
  Remove(low);
  Wait(std::chrono::seconds(2));
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
}

TEST_F(GroupPreemptionTest, OnlyVictimsThatAreInTheWayAreEvicted) {
  AddNodes(2);
  for (const auto* node : {"n0", "n1"}) {
    Add(Low(fmt::format("small-{}", node), node, "300m"));
    Add(Low(fmt::format("large-{}", node), node));
  }
  AddGang({"a", "b"});
  Settle();
  EXPECT_THAT(Deleted(), UnorderedElementsAre("large-n0", "large-n1"));
  EXPECT_EQ(Message().substr(Message().rfind(", ")), ", preempting 2 victims");
}

TEST_F(GroupPreemptionTest, VictimsAreSparedByPriorityAndAge) {
  AddNodes(1);
  Add(Started(Low("low", "n0", "400m").Priority(1), 100));
  Add(Started(Low("old", "n0", "300m"), 10));
  Add(Started(Low("young", "n0", "300m"), 20));
  AddGroup(MakeGroup("g", 1, 10));
  Add(Member("a"));
  Settle();
  EXPECT_THAT(Deleted(), UnorderedElementsAre("old", "young"))
      << "together they make room, `low` is spared first";
}

TEST_F(GroupPreemptionTest, AVictimWhoseEvictionViolatesABudgetIsSparedFirst) {
  AddNodes(1);
  Add(Low("guarded", "n0", "400m").Label("app", "db"));
  Add(Low("important", "n0", "400m").Priority(5));
  auto budget = std::make_shared<api::PodDisruptionBudget>();
  budget->metadata.ns = "default";
  budget->metadata.name = "db";
  budget->selector.emplace().match_labels = {{"app", "db"}};
  loop.sink().On(ports::Change<api::PodDisruptionBudget>{nullptr, budget});
  AddGroup(MakeGroup("g", 1, 10));
  Add(Member("a"));
  Settle();
  EXPECT_THAT(Deleted(), ElementsAre("important"));
}

TEST_F(GroupPreemptionTest, AGroupThatIsDisruptedAsAWholeIsEvictedAsAWhole) {
  AddNodes(2);
  AddGroup(AsAUnit(MakeGroup("victims", std::nullopt, 1)));
  Add(Low("v1", "n0").Group("victims").Priority(1));
  Add(Low("v2", "n1").Group("victims").Priority(1));
  AddGroup(MakeGroup("g", 1, 10));
  Add(Member("a"));
  Settle();
  EXPECT_THAT(Deleted(), UnorderedElementsAre("v1", "v2"));
}

TEST_F(GroupPreemptionTest, MembersOfAnotherGroupAreEvictedOneByOneWithThePriorityOfTheirGroup) {
  AddNodes(2);
  AddGroup(MakeGroup("protected", std::nullopt, 20));
  AddGroup(MakeGroup("victims", std::nullopt, 1));
  Add(Low("p", "n0").Group("protected").Priority(1));
  Add(Low("v", "n1").Group("victims").Priority(1));
  AddGroup(MakeGroup("g", 1, 10));
  Add(Member("a"));
  Settle();
  EXPECT_THAT(Deleted(), ElementsAre("v"));
}

TEST_F(GroupPreemptionTest, AGroupThatDoesNotFitEvenWithoutAllVictimsEvictsNone) {
  AddNodes(1);
  Add(Low("low", "n0"));
  AddGang({"a", "b"});
  Settle();
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_EQ(Message(),
            "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, deallocation and deletion of "
            "ResourceClaims "
            "completed, pod group preemption: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining");
  EXPECT_THAT(Nominated(), IsEmpty());
  Add(MakePod("next").Cpu("400m"));
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("next")) << "the victims are counted again";
  Add(MakePod("too-much").Cpu("100m"));
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("next"));
}

TEST_F(GroupPreemptionTest, AGroupWithAMemberThatNeverPreemptsEvictsNone) {
  AddNodes(1);
  Add(Low("low", "n0"));
  AddGroup(MakeGroup("g", 1, 10));
  PodBuilder never = Member("a");
  never.raw().spec.never_preempts = true;
  Add(never);
  Settle();
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_EQ(Message().substr(Message().rfind("pod group preemption")),
            "pod group preemption: not eligible due to preemptionPolicy=Never.");
}

TEST_F(GroupPreemptionTest, TheGroupsOwnPolicyCountsWithItsGate) {
  Start({"PodGroupPreemptionPolicy=true"});
  AddNodes(1);
  Add(Low("low", "n0"));
  auto group = std::make_shared<api::PodGroup>(*MakeGroup("g", 1, 10));
  group->preemption_policy = "Never";
  AddGroup(group);
  PodBuilder never = Member("a");
  never.raw().spec.never_preempts = true;
  Add(never);
  Settle();
  EXPECT_THAT(Deleted(), IsEmpty());
}

TEST_F(GroupPreemptionTest, MembersAreGatedWhileTheirVictimsAreBeingDeleted) {
  AddNodes(2);
  Add(Low("low", "n0"));
  api.hold = true;
  AddGang({"a", "b"});
  Settle();
  Wait(std::chrono::seconds(20));
  EXPECT_EQ(scheduler->queue().sizes().gated, 2U);
  api.Release();
  Settle();
}

TEST_F(GroupPreemptionTest, VictimsWhoseAntiAffinityExcludesAMemberAreEvicted) {
  AddNodes(2);
  const auto against = [] {
    api::PodAffinityTerm term;
    term.topology_key = "kubernetes.io/hostname";
    term.label_selector.emplace().match_labels = {{"app", "gang"}};
    return term;
  };
  PodBuilder hostile = Low("hostile", "n0", "100m");
  hostile.raw().spec.pod_anti_affinity.emplace().required = {against()};
  Add(hostile);
  Add(Low("neutral", "n1", "100m"));
  AddGroup(MakeGroup("g", 2, 10));
  // A term of its own, so that the plugin takes part although no other pod excludes the members at first.
  for (const auto* name : {"a", "b"}) {
    PodBuilder member = Member(name).Label("app", "gang");
    api::PodAffinityTerm term = against();
    term.label_selector.emplace().match_labels = {{"app", "else"}};
    member.raw().spec.pod_anti_affinity.emplace().required = {term};
    Add(member);
  }
  Settle();
  EXPECT_THAT(Deleted(), ElementsAre("hostile"));
}

}  // namespace
}  // namespace berth::cycle
