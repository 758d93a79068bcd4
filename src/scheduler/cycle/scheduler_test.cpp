#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "testing/builders.hpp"

namespace berth::cycle {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class SchedulerTest : public ::testing::Test, protected SchedulerEnvironment {
 protected:
  SchedulerTest() { Build(config::DefaultSchedulerConfig(), assembly::InTreePlugins()); }

  void Sync() {
    loop.sink().OnSynced();
    Settle();
  }
  static api::NodePtr Small(const std::string& name) {
    return std::make_shared<const api::Node>(MakeNode(name).Cpu("1").Memory("4Gi"));
  }
  void AddNode(const std::string& name) { loop.sink().On(ports::Change<api::Node>{nullptr, Small(name)}); }
  api::PodPtr AddPod(const PodBuilder& pod) {
    api::PodPtr shared = pod.Share();
    loop.sink().On(ports::Change<api::Pod>{nullptr, shared});
    return shared;
  }
  // Delivers the update of the watch after the API server has bound the pod.
  api::PodPtr SeeBound(const api::PodPtr& pod, const std::string& node) {
    api::Pod bound = *pod;
    bound.spec.node_name = node;
    auto shared = std::make_shared<const api::Pod>(std::move(bound));
    loop.sink().On(ports::Change<api::Pod>{pod, shared});
    return shared;
  }
  std::vector<std::string> Bound() const {
    std::vector<std::string> bound;
    for (const ports::Binding& binding : api.bindings) bound.push_back(binding.name + "@" + binding.node);
    return bound;
  }
  std::vector<std::string> EventReasons() const {
    std::vector<std::string> reasons;
    for (const ports::Event& event : events.events) reasons.push_back(event.reason);
    return reasons;
  }
};

TEST_F(SchedulerTest, NoPodIsScheduledBeforeTheInitialListsAreComplete) {
  AddNode("n1");
  AddPod(MakePod("a").Cpu("500m"));
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  Sync();
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
}

TEST_F(SchedulerTest, NothingOfADeletedPodIsKept) {
  for (const bool bound : {false, true}) {
    SCOPED_TRACE(bound ? "bound" : "waiting");
    AddNode("n1");
    Sync();
    const std::size_t before = engine->symbols().size();
    PodBuilder shape =
        MakePod().Label("k", "v").Image("i").Preferring(1, berth::testing::Term({{"key", "In", {"value"}}}));
    if (!bound) shape.Selecting("key", "value").Request("example.com/x", "1");
    std::vector<api::PodPtr> pods;
    for (const auto* name : {"a", "b", "c"}) {  // the cache keeps shapes that were met more than once
      PodBuilder pod = shape;
      pod.raw().metadata.name = name;
      pods.push_back(AddPod(pod.Uid(name)));
      Settle();
    }
    EXPECT_THAT(Bound(), SizeIs(bound ? 3 : 0));
    EXPECT_GT(engine->symbols().size(), before);
    if (bound) {
      for (api::PodPtr& pod : pods) pod = SeeBound(pod, "n1");
      Settle();
    }
    std::vector<std::weak_ptr<const api::Pod>> weak(pods.begin(), pods.end());
    for (api::PodPtr& pod : pods)
      loop.sink().On(ports::Change<api::Pod>{std::exchange(pod, nullptr), nullptr});
    Wait(std::chrono::seconds(11));
    Wait(std::chrono::seconds(11));
    events.events.clear();  // the fakes keep what was written
    api.patches.clear();
    EXPECT_EQ(engine->symbols().size(), before);
    for (const auto& pod : weak) EXPECT_TRUE(pod.expired());
  }
}

TEST_F(SchedulerTest, ABindingContainsTheUidAndIsFollowedByAnEvent) {
  AddNode("n1");
  AddPod(MakePod("a").Uid("uid-a"));
  Sync();
  ASSERT_THAT(api.bindings, SizeIs(1));
  EXPECT_EQ(api.bindings[0].uid, "uid-a");
  ASSERT_THAT(EventReasons(), ElementsAre("Scheduled"));
  EXPECT_EQ(events.events[0].note, "Successfully assigned default/a to n1");
  EXPECT_TRUE(events.events[0].routine);
}

TEST_F(SchedulerTest, AnAssumedPodUsesItsNodeBeforeTheResponse) {
  api.hold = true;
  AddNode("n1");
  AddPod(MakePod("a").Cpu("600m"));
  AddPod(MakePod("b").Cpu("600m"));
  Sync();
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
  ASSERT_THAT(api.patches, SizeIs(1));
  EXPECT_EQ(api.patches[0].name, "b");
  EXPECT_THAT(api.patches[0].message, StartsWith("0/1 nodes are available: 1 Insufficient cpu. "));
}

TEST_F(SchedulerTest, ARejectedPodGetsAnEventAndIsRetriedWhenANodeIsAdded) {
  AddNode("n1");
  AddPod(MakePod("big").Cpu("900m"));
  AddPod(MakePod("other").Cpu("900m"));
  Sync();
  EXPECT_THAT(Bound(), ElementsAre("big@n1"));
  EXPECT_EQ(events.events.back().reason, "FailedScheduling");
  EXPECT_EQ(api.patches.back().reason, "Unschedulable");
  Wait(std::chrono::seconds(30));
  EXPECT_THAT(Bound(), SizeIs(1)) << "no event could help";
  AddNode("n2");
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("big@n1", "other@n2"));
  EXPECT_EQ(events.events.back().reason, "Scheduled");
  EXPECT_FALSE(events.events.back().routine) << "it ends a wait that users have seen";
}

TEST_F(SchedulerTest, ResourcesOfADeletedPodAreReused) {
  AddNode("n1");
  const api::PodPtr first = AddPod(MakePod("first").Cpu("900m"));
  AddPod(MakePod("second").Cpu("900m"));
  Sync();
  SeeBound(first, "n1");
  Wait(std::chrono::seconds(10));
  loop.sink().On(ports::Change<api::Pod>{first, nullptr});
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("first@n1", "second@n1"));
}

TEST_F(SchedulerTest, AFailedBindingReleasesItsResourcesAndIsRetried) {
  api.answer = Fail(ErrorCode::kUnavailable, "no answer");
  AddNode("n1");
  AddPod(MakePod("a").Cpu("900m"));
  Sync();
  EXPECT_EQ(engine->cache().assumed_count(), 0U);
  ASSERT_THAT(api.patches, SizeIs(1));
  EXPECT_EQ(api.patches[0].reason, "SchedulerError");
  EXPECT_EQ(api.patches[0].message, "running Bind plugin \"DefaultBinder\": no answer");
  api.answer = {};
  Wait(std::chrono::seconds(3));
  EXPECT_THAT(Bound(), ElementsAre("a@n1", "a@n1"));
  EXPECT_EQ(events.events.back().reason, "Scheduled");
}

TEST_F(SchedulerTest, APodDeletedDuringItsBindingIsNotRetried) {
  api.hold = true;
  AddNode("n1");
  const api::PodPtr pod = AddPod(MakePod("a"));
  Sync();
  loop.sink().On(ports::Change<api::Pod>{pod, nullptr});
  Settle();
  EXPECT_EQ(engine->cache().pod_count(), 0U);
  api.answer = Fail(ErrorCode::kNotFound, "pods \"a\" not found");
  api.Release();
  Wait(std::chrono::seconds(60));
  EXPECT_THAT(Bound(), SizeIs(1));
  EXPECT_THAT(api.patches, IsEmpty());
}

TEST_F(SchedulerTest, APodBoundByAnotherSchedulerIsNotScheduled) {
  const api::PodPtr pod = AddPod(MakePod("a").Cpu("900m"));
  Sync();  // no nodes yet
  SeeBound(pod, "n1");
  AddNode("n1");
  Wait(std::chrono::seconds(60));
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(scheduler->queue().sizes().unschedulable, 0U);
  AddPod(MakePod("b").Cpu("900m"));
  Settle();
  EXPECT_THAT(Bound(), IsEmpty()) << "the other pod uses the node";
}

TEST_F(SchedulerTest, APodOfAnotherSchedulerCountsOnlyWhenItIsBound) {
  AddNode("n1");
  const api::PodPtr foreign = AddPod(MakePod("foreign").Scheduler("another").Cpu("900m"));
  Sync();
  EXPECT_THAT(Bound(), IsEmpty());
  SeeBound(foreign, "n1");
  AddPod(MakePod("ours").Cpu("900m"));
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
}

TEST_F(SchedulerTest, AGatedPodIsScheduledWhenItsGateIsRemoved) {
  AddNode("n1");
  const api::PodPtr gated = AddPod(MakePod("a").Gate("wait"));
  Sync();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(api.patches, IsEmpty());
  api::Pod open = *gated;
  open.spec.scheduling_gates.clear();
  loop.sink().On(ports::Change<api::Pod>{gated, std::make_shared<const api::Pod>(open)});
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
}

TEST_F(SchedulerTest, ATerminatingPodIsSkippedWithAWarning) {
  AddNode("n1");
  AddPod(MakePod("a").Deleting());
  Sync();
  EXPECT_THAT(Bound(), IsEmpty());
  ASSERT_THAT(EventReasons(), ElementsAre("FailedScheduling"));
  EXPECT_EQ(events.events[0].note, "skip schedule deleting pod: default/a");
}

TEST_F(SchedulerTest, WithoutNodesAPodIsRetriedWithoutAnEvent) {
  AddPod(MakePod("a"));
  Sync();
  EXPECT_EQ(api.patches.back().message, "no nodes available to schedule pods");
  const std::size_t attempts = api.patches.size();
  Wait(std::chrono::seconds(5));
  EXPECT_GT(api.patches.size(), attempts);
}

TEST_F(SchedulerTest, TheLastAttemptOfAPodIsRecorded) {
  AddNode("n1");
  AddPod(MakePod("a").Cpu("2"));
  Sync();
  const auto record = scheduler->records().Latest("default/a");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->result, record::Result::kUnschedulable);
}

// --- stand-by, leading, draining ---

class LeadingTest : public SchedulerTest {
 protected:
  LeadingTest() {
    SchedulerOptions options;
    options.stand_by = true;
    BuildScheduler(options, lease_fence);
  }
  void Lead() {
    lease_fence.Renewed(clock.BootNow(), std::chrono::seconds(20));  // open for 19 s
    scheduler->Lead();
    Settle();
  }
  std::string Metric(const std::string& name) const {
    const std::string all = metrics.Expose();
    const auto at = all.find("\n" + name);
    return all.substr(at + 1, all.find('\n', at + 1) - at - 1);
  }

  LeaseFence lease_fence{clock};
};

TEST_F(LeadingTest, AStandbyFollowsTheClusterAndSchedulesNothing) {
  AddNode("n1");
  AddPod(MakePod("a").Cpu("100m"));
  Sync();
  Wait(std::chrono::minutes(10));
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(api.patches, IsEmpty());
  EXPECT_THAT(events.events, IsEmpty());
  EXPECT_TRUE(loop.synced());
  EXPECT_EQ(Metric("scheduler_cache_size{type=\"nodes\"}"), "scheduler_cache_size{type=\"nodes\"} 1");
  EXPECT_EQ(scheduler->queue().sizes().active, 1U);
  EXPECT_EQ(Metric("berth_attempt_records "), "berth_attempt_records 0");
  Lead();
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
  EXPECT_EQ(Metric("berth_attempt_records "), "berth_attempt_records 1");
  EXPECT_NE(Metric("berth_attempt_record_bytes "), "berth_attempt_record_bytes 0");
}

TEST_F(LeadingTest, PodsBoundByThePreviousLeaderAreNotBoundAgain) {
  AddNode("n1");
  const api::PodPtr pod = AddPod(MakePod("a").Cpu("900m"));
  AddPod(MakePod("b").Cpu("900m"));
  Sync();
  SeeBound(pod, "n1");
  Lead();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(api.patches, SizeIs(1)) << "the other pod is rejected";
}

TEST_F(LeadingTest, ChangesBeforeLeadAreIncludedInTheFirstDecision) {
  Sync();
  lease_fence.Renewed(clock.BootNow(), std::chrono::seconds(20));
  AddNode("n1");
  const api::PodPtr pod = AddPod(MakePod("a").Cpu("900m"));
  AddPod(MakePod("b").Cpu("900m"));
  SeeBound(pod, "n1");
  scheduler->Lead();
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
}

TEST_F(LeadingTest, NoAttemptStartsWhileTheFenceIsClosed) {
  AddNode("n1");
  Sync();
  Lead();
  clock.Suspend(std::chrono::seconds(30));
  AddPod(MakePod("a"));
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  lease_fence.Renewed(clock.BootNow(),
                      std::chrono::seconds(20));  // the lease was not taken by another replica
  Wait(std::chrono::milliseconds(20));
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
}

TEST_F(LeadingTest, ABindingStoppedByTheFenceIsRevertedWithoutAnEvent) {
  api.hold = true;
  AddNode("n1");
  AddPod(MakePod("a").Cpu("900m"));
  Sync();
  Lead();
  ASSERT_THAT(Bound(), SizeIs(1));
  lease_fence.Close();
  api.answer = Fail(ErrorCode::kCancelled, "not the leader any more");
  api.Release();
  Wait(std::chrono::minutes(1));
  EXPECT_EQ(engine->cache().assumed_count(), 0U);
  EXPECT_THAT(events.events, IsEmpty());
  EXPECT_THAT(api.patches, IsEmpty());
  EXPECT_THAT(Bound(), SizeIs(1));
}

TEST_F(LeadingTest, APodStoppedByTheFenceIsRetriedIfTheLeaseIsRenewed) {
  api.hold = true;
  AddNode("n1");
  AddPod(MakePod("a").Cpu("900m"));
  Sync();
  Lead();
  clock.Suspend(std::chrono::seconds(30));
  api.answer = Fail(ErrorCode::kCancelled, "not the leader any more");
  api.Release();
  Settle();
  api.answer = {};
  lease_fence.Renewed(clock.BootNow(), std::chrono::seconds(20));
  Wait(std::chrono::seconds(3));
  EXPECT_THAT(Bound(), ElementsAre("a@n1", "a@n1"));
}

TEST_F(LeadingTest, ADrainWaitsForBindingsInProgress) {
  api.hold = true;
  AddNode("n1");
  AddPod(MakePod("a"));
  Sync();
  Lead();
  scheduler->Drain(std::chrono::seconds(5));
  AddPod(MakePod("b"));
  Wait(std::chrono::seconds(1));
  EXPECT_THAT(Bound(), ElementsAre("a@n1")) << "no further pod is scheduled";
  api.Release();
  loop.Run(*scheduler);  // returns
  EXPECT_EQ(scheduler->unconfirmed_bindings(), 0U);
  EXPECT_THAT(EventReasons(), ElementsAre("Scheduled"));
  EXPECT_EQ(engine->cache().assumed_count(), 1U);
}

TEST_F(LeadingTest, ADrainRevertsAndCountsBindingsWithoutAResponse) {
  api.hold = true;
  AddNode("n1");
  AddPod(MakePod("a"));
  Sync();
  Lead();
  scheduler->Drain(std::chrono::seconds(5));
  Settle();
  Wait(std::chrono::seconds(5));
  loop.Run(*scheduler);
  EXPECT_EQ(scheduler->unconfirmed_bindings(), 1U);
  EXPECT_EQ(engine->cache().assumed_count(), 0U);
  EXPECT_THAT(events.events, IsEmpty());
  EXPECT_THAT(api.patches, IsEmpty());
}

TEST_F(LeadingTest, AStandbyDrainsImmediatelyEvenBeforeTheInitialLists) {
  scheduler->Drain(std::chrono::seconds(5));
  loop.Run(*scheduler);
  EXPECT_EQ(scheduler->unconfirmed_bindings(), 0U);
}

// --- overcommitment by two leaders ---

TEST_F(LeadingTest, ALateBindingOfAPreviousLeaderIsReported) {
  AddNode("n1");
  const api::PodPtr late = AddPod(MakePod("late").Cpu("900m").Scheduler("gone"));
  AddPod(MakePod("a").Cpu("900m"));
  Sync();
  Lead();
  ASSERT_THAT(Bound(), ElementsAre("a@n1"));
  EXPECT_EQ(Metric("berth_overcommitted_placements_total"), "berth_overcommitted_placements_total 0");
  SeeBound(late, "n1");
  Settle();
  EXPECT_EQ(Metric("berth_overcommitted_placements_total"), "berth_overcommitted_placements_total 1");
  const ports::Event& event = events.events.back();
  EXPECT_EQ(event.reason, "OvercommittedNode");
  EXPECT_EQ(event.type, ports::Event::Type::kWarning);
  EXPECT_EQ(event.regarding->metadata.name, "late");
  EXPECT_EQ(event.note, "Node n1 is overcommitted since this pod was bound to it: milli-cpu 1800 of 1000");
}

TEST_F(LeadingTest, ALateBindingThatRequestsWhatNoNodeHasIsReported) {
  AddNode("n1");
  const api::PodPtr late = AddPod(MakePod("late").Request("example.com/gpu", "2").Scheduler("gone"));
  Sync();
  Lead();
  SeeBound(late, "n1");
  Settle();
  EXPECT_EQ(events.events.back().note,
            "Node n1 is overcommitted since this pod was bound to it: example.com/gpu 2 of 0");
}

TEST_F(LeadingTest, ALateBindingThatRequestsWhatOnlyItsNodeHasIsReported) {
  loop.sink().On(ports::Change<api::Node>{
      nullptr, std::make_shared<const api::Node>(MakeNode("n1").Allocatable("example.com/gpu", "3"))});
  AddNode("n2");
  const api::PodPtr fits = AddPod(MakePod("fits").Request("example.com/gpu", "3").Scheduler("gone"));
  const api::PodPtr late = AddPod(MakePod("late").Request("example.com/gpu", "2").Scheduler("gone"));
  Sync();
  Lead();
  SeeBound(fits, "n1");
  Settle();
  EXPECT_EQ(Metric("berth_overcommitted_placements_total"), "berth_overcommitted_placements_total 0");
  SeeBound(late, "n1");
  Settle();
  EXPECT_EQ(events.events.back().note,
            "Node n1 is overcommitted since this pod was bound to it: example.com/gpu 5 of 3");
}

TEST_F(LeadingTest, OwnBindingsAreNotReported) {
  AddNode("n1");
  const api::PodPtr pod = AddPod(MakePod("a").Cpu("900m"));
  Sync();
  Lead();
  SeeBound(pod, "n1");
  api::Pod changed = *pod;
  changed.spec.node_name = "n1";
  changed.metadata.labels = MakePod("a").Label("x", "y").Share()->metadata.labels;
  loop.sink().On(ports::Change<api::Pod>{pod, std::make_shared<const api::Pod>(changed)});
  Settle();
  EXPECT_EQ(Metric("berth_overcommitted_placements_total"), "berth_overcommitted_placements_total 0");
}

TEST_F(LeadingTest, OnlyResourcesThatThePodRequestsAreReported) {
  loop.sink().On(ports::Change<api::Node>{
      nullptr, std::make_shared<const api::Node>(MakeNode("n1").Cpu("1").Memory("1Gi"))});
  const auto bound = [&](const char* name, const char* cpu, const char* memory) {
    SeeBound(AddPod(MakePod(name).Cpu(cpu).Memory(memory).Scheduler("x")), "n1");
    Settle();
  };
  bound("before", "2", "1Mi");  // before this replica started
  Sync();
  Lead();
  EXPECT_EQ(Metric("berth_overcommitted_placements_total"), "berth_overcommitted_placements_total 0");
  bound("small", "0", "1Mi");
  EXPECT_EQ(Metric("berth_overcommitted_placements_total"), "berth_overcommitted_placements_total 0");
  bound("large", "0", "2Gi");
  EXPECT_EQ(Metric("berth_overcommitted_placements_total"), "berth_overcommitted_placements_total 1");
}

TEST_F(LeadingTest, AStandbyReportsNothing) {
  AddNode("n1");
  Sync();
  for (const char* name : {"a", "b"}) SeeBound(AddPod(MakePod(name).Cpu("900m")), "n1");
  Settle();
  EXPECT_THAT(events.events, IsEmpty());
  EXPECT_EQ(Metric("berth_overcommitted_placements_total"), "berth_overcommitted_placements_total 0");
}

}  // namespace
}  // namespace berth::cycle
