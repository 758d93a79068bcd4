// Pod groups in the queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "testing/builders.hpp"

namespace berth::queue {
namespace {

using namespace std::chrono_literals;
using berth::testing::MakeChildGroup;
using berth::testing::MakeComposite;
using berth::testing::MakeGroup;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using framework::ClusterEvent;
using framework::EventResource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr ClusterEvent kPodAdd{EventResource::kUnscheduledPod, framework::kAdd, "UnscheduledPodAdd"};
constexpr ClusterEvent kAddedNode{EventResource::kNode, framework::kAdd, "NodeAdd"};

// Gates the pods of the set; the gating plugin is registered for kPodAdd.
class GatingPolicy final : public QueuePolicy {
 public:
  bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const override {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.timestamp < b.timestamp;
  }
  framework::Status PreEnqueue(const framework::QueuedPod& pod) const override {
    if (!gated.contains(pod.info.pod->metadata.name)) return {};
    auto status = framework::Status::Unresolvable("gated");
    status.plugin = "Gate";
    return status;
  }
  bool IsAnyRegistered(const ClusterEvent&) const override { return true; }
  bool IsRegisteredBy(std::uint32_t, const std::string&, const ClusterEvent& event) const override {
    return event.resource == EventResource::kUnscheduledPod;
  }
  framework::Requeue EvaluateHint(const framework::QueuedPod&, const ClusterEvent&,
                                  const framework::EventObjects&) const override {
    ++hints;
    return framework::Requeue::kAfterBackoff;
  }
  std::set<std::string> gated;
  mutable int hints = 0;
};

class QueueGroupsTest : public ::testing::Test {
 protected:
  void Add(PodBuilder pod) {
    pod.Uid(pod.raw().metadata.name);
    queue.Add(cluster::PreparePod(pod.Share(), words), 0);
    clock.Advance(1ms);
  }
  void AddMember(const std::string& name, const std::string& group = "g") { Add(MakePod(name).Group(group)); }
  void AddGroup(const std::string& name, std::int32_t priority = 0) {
    groups.PutObject(MakeGroup(name, std::nullopt, priority));
    queue.OnGroupAdded("default/" + name);
  }
  void DeleteGroup(const std::string& name) {
    groups.RemoveObject("default/" + name);
    queue.OnGroupDeleted("default/" + name);
  }
  void AddObject(const api::PodGroupPtr& object) {
    groups.PutObject(object);
    queue.OnGroupAdded(cluster::KeyOf(*object));
  }
  void DeleteObject(const api::PodGroupPtr& object) {
    const std::string key = cluster::KeyOf(*object);
    const auto root = groups.RootOf(key);
    groups.RemoveObject(key);
    if (root) queue.OnGroupDeleted(*root);
  }
  // The name of the popped pod, or the names of the members of the popped group.
  std::vector<std::string> Pop() {
    popped = queue.Pop();
    std::vector<std::string> names;
    if (popped.pod) names.push_back(popped.pod->info.pod->metadata.name);
    if (popped.group) {
      for (const auto& pod : popped.group->members) names.push_back(pod->info.pod->metadata.name);
    }
    return names;
  }
  // The members of the popped group, by name, are requeued; the others are bound.
  void End(GroupOutcome outcome, const std::set<std::string>& failed) {
    for (const auto& pod : popped.group->members) {
      const std::string& name = pod->info.pod->metadata.name;
      failed.contains(name) ? queue.Requeue(pod) : queue.Done(name);
    }
    queue.EndGroup(*popped.group, outcome);
  }
  void Wait(Duration time) {
    for (; time > 0s; time -= 1s) {
      clock.Advance(1s);
      queue.Tick();
    }
  }

  cluster::SymbolTable words;
  ManualClock clock;
  GatingPolicy policy;
  metrics::Registry registry;
  cluster::NestedGroups grouping;
  cluster::PodGroups groups{grouping};
  SchedulingQueue queue{{}, clock, policy, groups, registry};
  Popped popped;
};

TEST_F(QueueGroupsTest, AMemberWaitsForTheObjectOfItsGroup) {
  AddMember("a");
  EXPECT_EQ(queue.sizes().incomplete, 1U);
  EXPECT_THAT(Pop(), IsEmpty());
  AddGroup("g");
  EXPECT_EQ(queue.sizes().incomplete, 0U);
  EXPECT_THAT(Pop(), ElementsAre("a"));
  EXPECT_EQ(popped.group->key, "default/g");
}

TEST_F(QueueGroupsTest, MembersArePoppedTogetherInOrderOfPriorityAndArrival) {
  AddGroup("g");
  AddMember("late");
  AddMember("early");
  Add(MakePod("important").Group("g").Priority(5));
  EXPECT_THAT(Pop(), ElementsAre("important", "late", "early"));
  EXPECT_EQ(queue.sizes().in_flight, 3U);
}

TEST_F(QueueGroupsTest, AGroupIsOrderedAmongPodsByItsOwnPriority) {
  AddGroup("g", 5);
  Add(MakePod("single").Priority(3));
  AddMember("a");
  EXPECT_THAT(Pop(), ElementsAre("a"));
}

TEST_F(QueueGroupsTest, AGatedMemberGatesTheGroupUntilAnEventOfTheGatingPlugin) {
  AddGroup("g");
  policy.gated = {"b"};
  AddMember("a");
  AddMember("b");
  EXPECT_EQ(queue.sizes().gated, 2U);
  EXPECT_THAT(Pop(), IsEmpty());
  policy.gated.clear();
  queue.MoveAll(kAddedNode, {});
  EXPECT_EQ(queue.sizes().gated, 2U) << "the gating plugin is not registered for this event";
  queue.MoveAll(kPodAdd, {});
  EXPECT_THAT(Pop(), ElementsAre("a", "b"));
}

TEST_F(QueueGroupsTest, AnEventForAGatedGroupEvaluatesOneHintIfNoneCanGiveMore) {
  AddGroup("g");
  for (const char* name : {"a", "b", "c"}) {
    policy.gated.insert(name);
    AddMember(name);
  }
  policy.hints = 0;
  queue.MoveAll(kPodAdd, {});
  EXPECT_EQ(policy.hints, 1);
}

TEST_F(QueueGroupsTest, AMemberThatArrivesKeepsTheDeferredEventsOfItsGroup) {
  SchedulingQueue few{{.evaluations_per_step = 1}, clock, policy, groups, registry};
  const auto add = [&](const std::string& name) {
    few.Add(cluster::PreparePod(MakePod(name).Uid(name).Group("g").Share(), words), 0);
  };
  AddGroup("g");
  policy.gated = {"a"};
  add("a");
  few.MoveAll(kPodAdd, {});
  policy.gated.clear();
  few.MoveAll(kPodAdd, {});
  ASSERT_EQ(few.sizes().gated, 1U) << "the second event is deferred";
  add("b");
  ASSERT_EQ(few.sizes().gated, 2U);
  EXPECT_FALSE(few.EvaluateDeferred());
  EXPECT_EQ(few.sizes().active, 2U);
}

TEST_F(QueueGroupsTest, AFailedGroupIsRetriedAfterABackoffThatGrowsWithItsSize) {
  AddGroup("g");
  for (const auto* name : {"a", "b", "c", "d"}) AddMember(name);
  std::vector<Duration> waits;
  for (int attempt = 0; attempt < 6; ++attempt) {
    ASSERT_THAT(Pop(), ElementsAre("a", "b", "c", "d"));
    End(GroupOutcome::kRejected, {"a", "b", "c", "d"});
    EXPECT_EQ(queue.sizes().backoff, 4U);
    Duration waited{};
    while (queue.sizes().active == 0) {
      Wait(1s);
      waited += 1s;
    }
    waits.push_back(waited);
  }
  // One second later because back-offs end with the second in which they expire; at most 2 * 10 s.
  EXPECT_THAT(waits, ElementsAre(2s, 3s, 5s, 9s, 17s, 21s));
}

TEST_F(QueueGroupsTest, AGroupInBackoffIsNotTakenEarly) {
  AddGroup("g");
  AddMember("a");
  ASSERT_THAT(Pop(), ElementsAre("a"));
  End(GroupOutcome::kRejected, {"a"});
  EXPECT_THAT(Pop(), IsEmpty());
}

TEST_F(QueueGroupsTest, MembersThatFailedInAScheduledGroupAreRetriedAtOnceAndFirst) {
  AddGroup("g");
  AddMember("a");
  AddMember("b");
  ASSERT_THAT(Pop(), ElementsAre("a", "b"));
  Add(MakePod("other"));
  End(GroupOutcome::kScheduled, {"b"});
  EXPECT_THAT(Pop(), ElementsAre("b")) << "the group keeps its time stamp";
}

TEST_F(QueueGroupsTest, AMemberWhoseBindingFailsLaterFormsANewEntry) {
  AddGroup("g");
  AddMember("a");
  ASSERT_THAT(Pop(), ElementsAre("a"));
  const framework::QueuedPodPtr pod = popped.group->members.front();
  queue.EndGroup(*popped.group, GroupOutcome::kScheduled);
  queue.Requeue(pod);
  EXPECT_THAT(Pop(), ElementsAre("a"));
  EXPECT_EQ(popped.group->attempts, 1);
  EXPECT_EQ(popped.group->members.front()->attempts, 2);
}

TEST_F(QueueGroupsTest, AMemberThatArrivesJoinsTheGroupInItsPlace) {
  AddGroup("g");
  AddMember("a");
  ASSERT_THAT(Pop(), ElementsAre("a"));
  End(GroupOutcome::kRejected, {"a"});
  AddMember("b");
  EXPECT_EQ(queue.sizes().backoff, 2U);
  Wait(2s);
  EXPECT_THAT(Pop(), ElementsAre("a", "b")) << "more attempts come first";
}

TEST_F(QueueGroupsTest, MembersOfADeletedGroupWaitForANewOne) {
  AddGroup("g");
  AddMember("a");
  DeleteGroup("g");
  EXPECT_EQ(queue.sizes().incomplete, 1U);
  AddGroup("g");
  ASSERT_THAT(Pop(), ElementsAre("a"));
  queue.Requeue(popped.group->members.front());
  DeleteGroup("g");
  queue.EndGroup(*popped.group, GroupOutcome::kRejected);
  EXPECT_EQ(queue.sizes().incomplete, 1U) << "deleted during the attempt";
}

TEST_F(QueueGroupsTest, WhenAMemberIsBoundTheWaitingOnesPassPreEnqueueAgain) {
  AddGroup("g");
  AddMember("a");
  AddMember("b");
  ASSERT_THAT(Pop(), ElementsAre("a", "b"));
  End(GroupOutcome::kRejected, {"b"});
  const api::PodPtr bound = MakePod("a").Uid("a").Group("g").OnNode("n").Share();
  queue.Delete(*MakePod("a").Uid("a").Share());
  EXPECT_EQ(queue.sizes().backoff, 1U) << "of no group";
  queue.Delete(*bound);
  EXPECT_EQ(queue.sizes().backoff, 1U) << "not gated";
  policy.gated = {"b"};
  queue.Delete(*bound);
  EXPECT_EQ(queue.sizes().backoff, 0U);
  EXPECT_EQ(queue.sizes().gated, 1U);
}

TEST_F(QueueGroupsTest, DeletedMembersLeaveNothingBehind) {
  AddMember("incomplete", "unknown");
  AddGroup("g");
  AddMember("a");
  AddMember("b");
  for (const auto* name : {"incomplete", "a", "b"}) queue.Delete(*MakePod(name).Uid(name).Share());
  EXPECT_THAT(Pop(), IsEmpty());
  std::size_t queued = 0;
  queue.ForEach([&](const framework::QueuedPod&, const char*) { ++queued; });
  EXPECT_EQ(queued, 0U);
  EXPECT_EQ(queue.sizes().active + queue.sizes().incomplete, 0U);
}

TEST_F(QueueGroupsTest, ActivatingAMemberActivatesItsGroup) {
  AddGroup("g");
  AddMember("a");
  AddMember("b");
  ASSERT_THAT(Pop(), ElementsAre("a", "b"));
  End(GroupOutcome::kRejected, {"a", "b"});
  const std::string keys[] = {"default/b"};
  queue.Activate(keys);
  EXPECT_THAT(Pop(), ElementsAre("a", "b"));
}

TEST_F(QueueGroupsTest, MetricsCountMembersAndEntries) {
  AddGroup("g");
  AddMember("a");
  AddMember("b");
  AddMember("c", "unknown");
  const std::string text = registry.Expose();
  EXPECT_THAT(text, HasSubstr("scheduler_pending_pods{queue=\"active\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("scheduler_pending_pods{queue=\"incomplete\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("scheduler_queued_entities{queue=\"active\",type=\"podgroup\"} 1\n"));
}

// --- trees ---

TEST_F(QueueGroupsTest, AMemberWaitsUntilAllGroupsUpToTheRootAreKnown) {
  AddObject(MakeChildGroup("g", "middle"));
  AddMember("a");
  AddObject(MakeComposite("root"));
  EXPECT_EQ(queue.sizes().incomplete, 1U);
  AddObject(MakeComposite("middle", "root"));
  EXPECT_EQ(queue.sizes().incomplete, 0U);
  EXPECT_THAT(Pop(), ElementsAre("a"));
  EXPECT_EQ(popped.group->key, "default/compositepodgroups.scheduling.k8s.io/root");
}

TEST_F(QueueGroupsTest, TheMembersOfAllGroupsOfATreeAreOneEntry) {
  AddObject(MakeComposite("root", "", 2, 5));
  AddObject(MakeChildGroup("g1", "root"));
  AddObject(MakeChildGroup("g2", "root"));
  AddMember("a", "g1");
  AddMember("b", "g2");
  AddMember("c", "g1");
  EXPECT_THAT(Pop(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(popped.group->priority, 5) << "that of the root";
  ASSERT_NE(popped.group->tree, nullptr);
  ASSERT_EQ(popped.group->tree->children.size(), 2U);
  EXPECT_EQ(popped.group->tree->children.front().key, "default/g1");
  End(GroupOutcome::kRejected, {"a", "b"});
  Wait(2s);
  EXPECT_THAT(Pop(), ElementsAre("a", "b"));
}

TEST_F(QueueGroupsTest, ACompositeGroupMayHaveTheNameOfAPodGroup) {
  AddObject(MakeComposite("same"));
  AddObject(MakeChildGroup("g", "same"));
  AddObject(MakeGroup("same"));
  AddMember("a", "g");
  AddMember("b", "same");
  EXPECT_THAT(Pop(), ElementsAre("a"));
  End(GroupOutcome::kScheduled, {});
  EXPECT_THAT(Pop(), ElementsAre("b"));
}

TEST_F(QueueGroupsTest, WithoutAGroupInTheMiddleTheMembersBelowWaitForIt) {
  const auto middle = MakeComposite("middle", "root");
  AddObject(MakeComposite("root"));
  AddObject(middle);
  AddObject(MakeChildGroup("below", "middle"));
  AddObject(MakeChildGroup("beside", "root"));
  AddMember("a", "below");
  AddMember("b", "beside");
  DeleteObject(middle);
  EXPECT_EQ(queue.sizes().incomplete, 1U);
  EXPECT_THAT(Pop(), ElementsAre("b"));
  End(GroupOutcome::kScheduled, {});
  AddObject(middle);
  EXPECT_THAT(Pop(), ElementsAre("a"));
}

TEST_F(QueueGroupsTest, TheDeletionOfAGroupTestsTheGatesOfTheOthersAgain) {
  const auto g1 = MakeChildGroup("g1", "root");
  AddObject(MakeComposite("root"));
  AddObject(g1);
  AddObject(MakeChildGroup("g2", "root"));
  AddMember("b", "g2");
  EXPECT_EQ(queue.sizes().active, 1U);
  policy.gated = {"b"};
  DeleteObject(g1);
  EXPECT_EQ(queue.sizes().gated, 1U);
}

TEST_F(QueueGroupsTest, ATreeThatIsDeletedDuringItsAttemptIsIncomplete) {
  const auto root = MakeComposite("root");
  AddObject(root);
  AddObject(MakeChildGroup("g", "root"));
  AddMember("a", "g");
  EXPECT_THAT(Pop(), ElementsAre("a"));
  queue.Requeue(popped.group->members.front());
  DeleteObject(root);
  EXPECT_EQ(queue.sizes().incomplete, 1U);
  queue.EndGroup(*popped.group, GroupOutcome::kRejected);
  EXPECT_EQ(queue.sizes().incomplete, 1U);
}

TEST_F(QueueGroupsTest, ACycleOfParentsHasNoRoot) {
  AddObject(MakeComposite("x", "y"));
  AddObject(MakeComposite("y", "x"));
  AddObject(MakeChildGroup("g", "x"));
  AddMember("a", "g");
  EXPECT_EQ(queue.sizes().incomplete, 1U);
  EXPECT_THAT(Pop(), IsEmpty());
}

}  // namespace
}  // namespace berth::queue
