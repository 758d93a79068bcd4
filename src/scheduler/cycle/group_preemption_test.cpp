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
  // A pod of low priority on the only node, beside a member of a group that is evicted as a whole and has
  // another member on a node that does not exist.
  void AddAWholeVictimOnAMissingNode() {
    AddNodes(1);
    AddGroup(AsAUnit(MakeGroup("victims", std::nullopt, 20)));
    Add(Low("v1", "n0", "100m").Group("victims").Priority(20));
    Add(Low("v2", "gone").Group("victims").Priority(20));
    Add(Low("low", "n0"));
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

TEST_F(GroupPreemptionTest, AUnitIsEvictedIfAnyOfItsPodsIsInTheWayOfAMember) {
  AddNodes(4);
  Add(Low("blocker", "n3").Priority(20));
  AddGroup(AsAUnit(MakeGroup("victims", std::nullopt, 1)));
  Add(Low("v0", "n3", "100m").Group("victims").Priority(1));
  Add(Low("v1", "n1", "300m").Group("victims").Priority(1));
  Add(Low("v2", "n2").Group("victims").Priority(1));
  Add(Low("low", "n0"));
  Add(Low("beside", "n1", "400m"));
  Add(Low("elsewhere", "n3", "100m"));
  AddGang({"a", "b", "c"});
  Settle();
  EXPECT_THAT(Deleted(), UnorderedElementsAre("v0", "v1", "v2", "low"));
  EXPECT_EQ(Nominated().size(), 3U);
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

constexpr const char* kHost = "kubernetes.io/hostname";

// A term against pods with this label.
api::PodAffinityTerm Against(const std::string& app, const std::string& key) {
  api::PodAffinityTerm term;
  term.topology_key = key;
  term.label_selector.emplace().match_labels = {{"app", app}};
  return term;
}
PodBuilder With(PodBuilder pod, const api::PodAffinityTerm& anti_affinity) {
  pod.raw().spec.pod_anti_affinity.emplace().required = {anti_affinity};
  return pod;
}

TEST_F(GroupPreemptionTest, AVictimWhoseAntiAffinityExcludesAMemberIsEvicted) {
  AddNodes(2);
  Add(With(Low("hostile", "n0", "100m"), Against("gang", kHost)));
  Add(Low("neutral", "n1", "100m"));
  AddGroup(MakeGroup("g", 2, 10));
  // A term of their own, so that the plugin takes part although no other pod excludes the members.
  for (const auto* name : {"a", "b"}) Add(With(Member(name).Label("app", "gang"), Against("else", kHost)));
  Settle();
  EXPECT_THAT(Deleted(), ElementsAre("hostile"));
}

TEST_F(GroupPreemptionTest, AVictimOnANodeWithoutAMemberIsEvictedIfItExcludesOne) {
  for (const auto* name : {"n0", "n1"}) {
    loop.sink().On(
        ports::Change<api::Node>{nullptr, MakeNode(name).Cpu("1").Memory("4Gi").Zone("z").Share()});
  }
  Add(With(Low("hostile", "n0", "100m"), Against("gang", "topology.kubernetes.io/zone")));
  Add(MakePod("full").Cpu("900m").OnNode("n0").Priority(20));
  AddGroup(MakeGroup("g", 1, 10));
  Add(With(Member("a").Label("app", "gang"), Against("else", kHost)));
  Settle();
  EXPECT_THAT(Nominated(), ElementsAre(Pair("a", "n1")));
  EXPECT_THAT(Deleted(), ElementsAre("hostile"));
}

// As in kube-scheduler, a filter that was skipped when the members were placed stays skipped.
TEST_F(GroupPreemptionTest, AVictimThatOnlyASkippedFilterSeesIsSpared) {
  AddNodes(1);
  Add(With(Low("hostile", "n0", "100m"), Against("gang", kHost)));
  AddGroup(MakeGroup("g", 1, 10));
  Add(Member("a").Label("app", "gang"));
  Settle();
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_EQ(Message().substr(Message().rfind(", ")), ", preempting 0 victims");
}

TEST_F(GroupPreemptionTest, ATerminatingPodCountsForSpreadingWhenItIsSpared) {
  AddNodes(2);
  Add(Low("important", "n0", "1").Priority(20));
  Add(Low("low", "n1"));
  PodBuilder leaving = Low("leaving", "n1", "100m").Label("app", "web");
  leaving.raw().metadata.deletion_timestamp = "2026-01-02T03:04:05Z";
  Add(leaving);
  AddGroup(MakeGroup("g", 1, 10));
  PodBuilder member = Member("a").Label("app", "web");
  api::TopologySpreadConstraint spread;
  spread.max_skew = 1;
  spread.topology_key = kHost;
  spread.when_unsatisfiable = "DoNotSchedule";
  spread.label_selector.emplace().match_labels = {{"app", "web"}};
  member.raw().spec.topology_spread_constraints.push_back(spread);
  Add(member);
  Settle();
  EXPECT_THAT(Deleted(), ElementsAre("low"));
  EXPECT_EQ(Message().substr(Message().rfind(", ")), ", preempting 2 victims");
}

TEST_F(GroupPreemptionTest, NodesAreNominatedAsIfNoneHadAnImage) {
  for (const auto* name : {"n0", "n1"}) {
    testing::NodeBuilder node = MakeNode(name).Memory("4Gi");
    if (name == std::string("n0")) {
      node.Cpu("1100m");
    } else {
      node.Cpu("1").Image("app:v1", 2000LL << 20);
    }
    loop.sink().On(ports::Change<api::Node>{nullptr, node.Share()});
  }
  for (const auto* node : {"n0", "n1"}) Add(Low(fmt::format("low-{}", node), node));
  AddGroup(MakeGroup("g", 1, 10));
  Add(Member("a").Image("app:v1"));
  Settle();
  EXPECT_THAT(Nominated(), ElementsAre(Pair("a", "n0"))) << "n1 has the image, n0 has more left";
}

TEST_F(GroupPreemptionTest, EvaluationsAreMeasured) {
  AddNodes(1);
  Add(Low("low", "n0"));
  AddGroup(MakeGroup("g", 1, 10));
  Add(Member("a"));
  Add(MakePod("single").Cpu("600m").Priority(10));
  Settle();
  const std::string text = metrics.Expose();
  for (const auto* labels :
       {R"(preemptor="podgroup",result="Success")", R"(preemptor="pod",result="Unschedulable")"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(fmt::format(
                          "scheduler_preemption_evaluation_duration_seconds_count{{{}}} 1", labels)));
  }
}

TEST_F(GroupPreemptionTest, APreemptionFailsWhileAMemberOfAWholeVictimIsOnAMissingNode) {
  AddAWholeVictimOnAMissingNode();
  AddGroup(MakeGroup("g", 1, 10));
  Add(Member("a"));
  Settle();
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_EQ(api.group_patches.back().condition.reason, "SchedulerError");
  EXPECT_EQ(
      Message(),
      "error in \"DefaultPreemption\" PodGroupPostFilter plugins: pod group preemption: failed to create "
      "domain: failed to get node info for node \"gone\" from snapshot: nodeinfo not found for node name "
      "\"gone\"");
}

// --- by a single pod ---

TEST_F(GroupPreemptionTest, APodEvictsNoneFromANodeWithAWholeGroupThatHasAMemberOnAMissingNode) {
  AddAWholeVictimOnAMissingNode();
  Add(MakePod("single").Cpu("600m").Priority(10));
  Settle();
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(
      NotesOf("FailedScheduling"),
      ElementsAre(Pair("single",
                       "0/1 nodes are available: 1 Insufficient cpu. preemption: failed to get node info "
                       "for node \"gone\" from snapshot: nodeinfo not found for node name \"gone\"")));
}

TEST_F(GroupPreemptionTest, APodEvictsAllPodsOfAGroupThatIsDisruptedAsAWhole) {
  AddNodes(2);
  AddGroup(AsAUnit(MakeGroup("victims", std::nullopt, 1)));
  Add(Low("v1", "n0").Group("victims").Priority(1));
  Add(Low("v2", "n1").Group("victims").Priority(1));
  Add(MakePod("single").Cpu("600m").Priority(10));
  Settle();
  EXPECT_THAT(Deleted(), UnorderedElementsAre("v1", "v2"));
  EXPECT_THAT(NotesOf("Preempted"),
              UnorderedElementsAre(Pair("v1", ::testing::StartsWith("Preempted by pod single on node n")),
                                   Pair("v2", ::testing::StartsWith("Preempted by pod single on node n"))));
}

TEST_F(GroupPreemptionTest, APodPrefersTheNodeWithFewerVictimsWhereverTheirGroupRuns) {
  AddNodes(3);
  AddGroup(AsAUnit(MakeGroup("victims", std::nullopt, 1)));
  Add(Low("v1", "n0").Group("victims").Priority(1));
  Add(Low("v2", "n1").Group("victims").Priority(1));
  Add(Low("alone", "n2").Priority(1));
  Add(MakePod("single").Cpu("600m").Priority(10));
  Settle();
  EXPECT_THAT(Deleted(), ElementsAre("alone"));
}

TEST_F(GroupPreemptionTest, APodSparesMembersOfGroupsBeforeOtherPods) {
  AddNodes(1);
  AddGroup(MakeGroup("g1", std::nullopt, 1));
  Add(Started(Low("old", "n0", "300m").Priority(1), 10));
  Add(Started(Low("member", "n0", "300m").Priority(1).Group("g1"), 20));
  Add(MakePod("single").Cpu("600m").Priority(10));
  Settle();
  EXPECT_THAT(Deleted(), ElementsAre("old"));
}

TEST_F(GroupPreemptionTest, ThePriorityOfTheGroupProtectsItsMembersFromAPod) {
  AddNodes(1);
  AddGroup(MakeGroup("protected", std::nullopt, 20));
  Add(Low("v", "n0").Group("protected").Priority(1));
  Add(MakePod("single").Cpu("600m").Priority(10));
  Settle();
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(
      NotesOf("FailedScheduling"),
      ElementsAre(Pair("single",
                       "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 "
                       "No preemption victims found for incoming pod.")));
}

TEST_F(GroupPreemptionTest, AUnitIsSparedAsAWholeIfItsEvictionViolatesABudget) {
  AddNodes(2);
  AddGroup(AsAUnit(MakeGroup("victims", std::nullopt, 1)));
  Add(Low("v1", "n0", "400m").Group("victims").Priority(1));
  Add(Low("v2", "n1").Group("victims").Priority(1).Label("app", "db"));  // the guarded one is on another node
  Add(Low("important", "n0", "400m").Priority(5));
  Add(MakePod("blocker").Cpu("1").OnNode("n1").Priority(20));
  auto budget = std::make_shared<api::PodDisruptionBudget>();
  budget->metadata.ns = "default";
  budget->metadata.name = "db";
  budget->selector.emplace().match_labels = {{"app", "db"}};
  loop.sink().On(ports::Change<api::PodDisruptionBudget>{nullptr, budget});
  Add(MakePod("single").Cpu("600m").Priority(10));
  Settle();
  EXPECT_THAT(Deleted(), ElementsAre("important"));
}

TEST_F(GroupPreemptionTest, AnEvictedUnitCountsForSpreadingOnAllItsNodes) {
  for (const auto* zone : {"z0", "z1", "z2"}) {
    const std::string name = std::string("n-") + zone;
    loop.sink().On(
        ports::Change<api::Node>{nullptr, MakeNode(name).Cpu("1").Memory("4Gi").Zone(zone).Share()});
  }
  AddGroup(AsAUnit(MakeGroup("victims", std::nullopt, 1)));
  const auto web = [](PodBuilder pod) { return pod.Label("app", "web"); };
  Add(web(Low("v0", "n-z0").Group("victims").Priority(1)));
  Add(web(Low("v1", "n-z1").Group("victims").Priority(1)));
  // Without the victims every zone has one pod less than the limit of z0 allows; with them only n-z2 would be
  // allowed.
  Add(web(Low("keeper", "n-z2", "1").Priority(20)));
  PodBuilder single = web(MakePod("single").Cpu("600m").Priority(10));
  api::TopologySpreadConstraint spread;
  spread.max_skew = 1;
  spread.topology_key = "topology.kubernetes.io/zone";
  spread.when_unsatisfiable = "DoNotSchedule";
  spread.label_selector.emplace().match_labels = {{"app", "web"}};
  single.raw().spec.topology_spread_constraints.push_back(spread);
  Add(single);
  Settle();
  EXPECT_THAT(Deleted(), UnorderedElementsAre("v0", "v1"));
}

}  // namespace
}  // namespace berth::cycle
