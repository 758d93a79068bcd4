#include "scheduler/queue/scheduling_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/framework/event_cache.hpp"
#include "testing/builders.hpp"

namespace berth::queue {
namespace {

using namespace std::chrono_literals;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using framework::ClusterEvent;
using framework::EventResource;
using framework::QueuedPod;
using framework::QueuedPodPtr;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr ClusterEvent kNodeAdd{EventResource::kNode, framework::kAdd, "NodeAdd"};
constexpr ClusterEvent kPodDelete{EventResource::kAssignedPod, framework::kDelete, "AssignedPodDelete"};
constexpr ClusterEvent kGatesGone{EventResource::kTargetPod, framework::kUpdatePodSchedulingGatesEliminated,
                                  "TargetPodUpdatePodSchedulingGatesEliminated"};

// Orders by priority, then time; rejects gated pods; each plugin registers for the events given by the test.
class FakePolicy final : public QueuePolicy {
 public:
  bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const override {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.timestamp < b.timestamp;
  }
  framework::Status PreEnqueue(const QueuedPod& pod) const override {
    if (pod.info.pod->spec.scheduling_gates.empty()) return {};
    auto status = framework::Status::Unresolvable("gated");
    status.plugin = "Gates";
    return status;
  }
  bool IsAnyRegistered(const ClusterEvent& event) const override {
    return std::ranges::any_of(hopes, [&](const auto& hope) { return hope.second.Matches(event); });
  }
  bool IsRegisteredBy(std::uint32_t, const std::string& plugin, const ClusterEvent& event) const override {
    const auto found = hopes.find(plugin);
    return found != hopes.end() && found->second.Matches(event);
  }
  framework::Requeue EvaluateHint(const QueuedPod& pod, const ClusterEvent& event,
                                  const framework::EventObjects& objects) const override {
    called_profile = pod.profile;
    ++hints;
    framework::ComputeOnce<int>(objects, [&] { return ++prepared; });
    const auto hopes_so = [&](const std::string& plugin) { return IsRegisteredBy(0, plugin, event); };
    if (std::ranges::any_of(pod.pending, hopes_so)) return framework::Requeue::kImmediately;
    return std::ranges::any_of(pod.rejectors, hopes_so) ? framework::Requeue::kAfterBackoff
                                                        : framework::Requeue::kSkip;
  }
  std::map<std::string, ClusterEvent> hopes{
      {"Fit", kPodDelete}, {"Affinity", kNodeAdd}, {"Gates", kGatesGone}};
  mutable std::uint32_t called_profile = 99;
  mutable int hints = 0;     // that were evaluated
  mutable int prepared = 0;  // how often a hint computed what depends on the event only
};

class QueueTest : public ::testing::Test {
 protected:
  cluster::PodInfo Info(const PodBuilder& pod) { return cluster::PreparePod(pod.Share(), words); }
  void Add(const PodBuilder& pod, std::uint32_t profile = 0) { queue.Add(Info(pod), profile); }
  static api::PodPtr WithUid(const std::string& uid) { return MakePod().Uid(uid).Share(); }
  void Delete(const std::string& uid) { queue.Delete(*WithUid(uid)); }
  // Returns the name of the popped pod, "" if there is none; it stays in flight as `popped`.
  std::string Pop() {
    popped = queue.Pop().pod;
    return popped ? popped->info.pod->metadata.name : "";
  }
  void Reject(const std::string& plugin) {
    popped->rejectors = {plugin};
    queue.Requeue(popped);
  }
  void Break() {
    popped->rejectors.clear();
    queue.Requeue(popped);
  }
  void Update(const PodBuilder& pod, std::span<const ClusterEvent> events) {
    queue.Update(Info(pod), 0, events, {nullptr, pod.Share()});
  }
  void PublishEvent(const ClusterEvent& event) { queue.MoveAll(event, {}); }
  void Wait(Duration time) {
    clock.Advance(time);
    queue.Tick();
  }
  std::string Metrics() { return registry.Expose(); }

  cluster::SymbolTable words;
  ManualClock clock;
  FakePolicy policy;
  metrics::Registry registry;
  cluster::SchedulingGroups grouping;
  cluster::PodGroups groups{grouping};
  SchedulingQueue queue{{}, clock, policy, groups, registry};
  QueuedPodPtr popped;
};

// --- order ---

TEST_F(QueueTest, ThePodWithTheHighestPriorityIsPoppedFirst) {
  Add(MakePod("low").Priority(1));
  clock.Advance(1ms);
  Add(MakePod("high").Priority(9));
  clock.Advance(1ms);
  Add(MakePod("second-low").Priority(1));
  EXPECT_EQ(Pop(), "high");
  EXPECT_EQ(Pop(), "low");
  EXPECT_EQ(Pop(), "second-low");
  EXPECT_EQ(Pop(), "");
}

TEST_F(QueueTest, OfTheEligiblePodsTheOneWithTheHighestPriorityIsPopped) {
  Add(MakePod("low").Priority(1), 1);
  Add(MakePod("high").Priority(9), 0);
  Add(MakePod("medium").Priority(5), 1);
  const auto pop = [&](std::uint32_t profile) {
    popped = queue.Pop([&](const framework::QueuedPod& pod) { return pod.profile == profile; }).pod;
    return popped ? popped->info.pod->metadata.name : "";
  };
  EXPECT_EQ(pop(1), "medium");
  EXPECT_EQ(pop(1), "low");
  EXPECT_EQ(pop(1), "");
  EXPECT_EQ(pop(0), "high");
}

TEST_F(QueueTest, PodsWithEqualTimestampsArePoppedInOrderOfArrival) {
  for (const auto* name : {"z", "a", "m"}) Add(MakePod(name));
  EXPECT_EQ(Pop(), "z");
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(Pop(), "m");
}

TEST_F(QueueTest, PodsAreIdentifiedByUid) {
  Add(MakePod("a").Priority(1));
  Add(MakePod("a").Priority(2));
  EXPECT_EQ(queue.sizes().active, 1U);
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(popped->info.priority(), 2);
  EXPECT_EQ(popped->attempts, 1);
}

TEST_F(QueueTest, APodMayBeRequeuedAfterDoneWithAnError) {
  Add(MakePod("a"));
  Pop();
  EXPECT_EQ(queue.sizes().in_flight, 1U);
  queue.Done(popped->info.pod->metadata.uid);
  EXPECT_EQ(queue.sizes().in_flight, 0U);
  EXPECT_EQ(queue.sizes().active + queue.sizes().backoff, 0U);
  Break();
  EXPECT_EQ(queue.sizes().backoff, 1U);
}

TEST_F(QueueTest, ARejectionAfterDoneIsRetriedBecauseEventsWereNotRecorded) {
  Add(MakePod("a"));
  Pop();
  queue.Done(popped->info.pod->metadata.uid);
  Reject("Fit");
  EXPECT_EQ(queue.sizes().unschedulable, 0U);
  EXPECT_EQ(queue.sizes().backoff, 1U);
}

// --- back-off ---

TEST_F(QueueTest, TheBackoffDoublesUpToItsMaximum) {
  Add(MakePod("a"));
  Add(MakePod("busy").Priority(100));  // prevents Pop from taking "a" early
  for (const auto delay : {1s, 2s, 4s, 8s, 10s, 10s}) {
    ASSERT_EQ(Pop(), "busy");
    const auto busy = popped;
    ASSERT_EQ(Pop(), "a");
    Reject("Fit");
    popped = busy;
    Break();
    PublishEvent(kPodDelete);
    EXPECT_EQ(queue.sizes().backoff, 2U);
    Wait(delay);
    EXPECT_EQ(queue.sizes().backoff, 2U)
        << "the second in which the delay of " << delay.count() << " s ends still belongs to it";
    Wait(1s);
    EXPECT_EQ(queue.sizes().active, 2U) << "after " << delay.count() << " s and one more";
  }
}

TEST_F(QueueTest, ABackoffEndsOnAWholeSecond) {
  clock.Advance(300ms);
  Add(MakePod("a"));
  Pop();
  Break();             // at x.3: the back-off ends at x.3 + 1 s, on the whole second (x + 1).0
  Wait(1700ms - 1ms);  // (x + 1).999
  EXPECT_EQ(queue.sizes().backoff, 1U);
  Wait(1ms);
  EXPECT_EQ(queue.sizes().active, 1U);
}

TEST_F(QueueTest, PodsAreNotTakenFromBackoffEarlyAfterErrors) {
  Add(MakePod("a"));
  Pop();
  Break();
  EXPECT_EQ(queue.sizes().backoff, 1U);
  EXPECT_EQ(Pop(), "") << "not early";
  Wait(2s);
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(popped->consecutive_errors, 1);
  Break();
  Wait(2s);
  EXPECT_EQ(Pop(), "") << "the second error doubles the delay";
  Wait(1s);
  EXPECT_EQ(Pop(), "a");
}

TEST_F(QueueTest, ARejectionResetsTheNumberOfErrors) {
  Add(MakePod("a"));
  Pop();
  Break();
  Wait(2s);
  Pop();
  Reject("Fit");
  EXPECT_EQ(popped->consecutive_errors, 0);
  EXPECT_EQ(popped->unschedulable_count, 1);
}

TEST_F(QueueTest, PodsInBackoffAreTakenEarlyWhenActiveQIsEmpty) {
  Add(MakePod("a"));
  Pop();
  Reject("Fit");
  PublishEvent(kPodDelete);
  EXPECT_EQ(queue.sizes().backoff, 1U);
  Add(MakePod("b"));
  EXPECT_EQ(Pop(), "b");
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(popped->attempts, 2);
  EXPECT_THAT(Metrics(),
              HasSubstr("scheduler_queue_incoming_pods_total{event=\"PopFromBackoffQ\",queue=\"active\"} 1"));
}

TEST_F(QueueTest, BackoffIsOrderedByExpiryAndThenByPriority) {
  for (const auto* name : {"twice", "low", "high"})
    Add(MakePod(name).Priority(name == std::string("high") ? 5 : 0));
  std::vector<QueuedPodPtr> pods;
  while (!Pop().empty()) pods.push_back(popped);
  for (const auto& pod : pods) {
    if (pod->info.pod->metadata.name == "twice") pod->unschedulable_count = 1;
    popped = pod;
    Reject("Fit");
  }
  PublishEvent(kPodDelete);
  EXPECT_EQ(Pop(), "high");
  EXPECT_EQ(Pop(), "low");
  EXPECT_EQ(Pop(), "twice");
}

TEST_F(QueueTest, PendingPodsSkipTheBackoff) {
  Add(MakePod("a"));
  Pop();
  popped->pending = {"Fit"};
  Reject("Fit");
  PublishEvent(kPodDelete);
  EXPECT_EQ(queue.sizes().active, 1U);
}

// --- rejections and events ---

TEST_F(QueueTest, ARejectedPodWaitsForAnEventOfItsRejector) {
  Add(MakePod("a"), 7);
  Pop();
  Reject("Fit");
  EXPECT_EQ(queue.sizes().unschedulable, 1U);
  PublishEvent(kNodeAdd);
  EXPECT_EQ(queue.sizes().unschedulable, 1U);
  EXPECT_EQ(policy.called_profile, 7U);
  PublishEvent(kPodDelete);
  EXPECT_EQ(queue.sizes().unschedulable, 0U);
}

TEST_F(QueueTest, APodWithoutRemainingBackoffMovesToActiveQ) {
  Add(MakePod("a"));
  Pop();
  Reject("Fit");
  Wait(2s);
  EXPECT_EQ(queue.sizes().unschedulable, 1U) << "time alone does not requeue it";
  PublishEvent(kPodDelete);
  EXPECT_EQ(queue.sizes().active, 1U);
}

TEST_F(QueueTest, PodsAreRetriedAfterTheUnschedulableTimeout) {
  Add(MakePod("a"));
  Pop();
  Reject("Fit");
  Wait(5min);
  EXPECT_EQ(queue.sizes().unschedulable, 1U) << "longer than five minutes, not five minutes";
  Wait(30s);
  EXPECT_EQ(queue.sizes().active, 1U);
  EXPECT_THAT(
      Metrics(),
      HasSubstr("scheduler_queue_incoming_pods_total{event=\"UnschedulableTimeout\",queue=\"active\"} 1"));
}

TEST_F(QueueTest, NextDueIsTheNextFlush) {
  clock.Advance(700ms);
  SchedulingQueue later({}, clock, policy, groups, registry);
  EXPECT_EQ(later.NextDue() - clock.Now(), 300ms);
  clock.Advance(1500ms);
  queue.Tick();
  EXPECT_EQ((queue.NextDue().time_since_epoch()) % 1s, 0s) << "on a whole second from then on";
  EXPECT_EQ(queue.NextDue() - clock.Now(), 800ms);
}

// --- gates ---

TEST_F(QueueTest, AGatedPodIsScheduledWhenItsGatesAreRemoved) {
  Add(MakePod("a").Gate("g"));
  EXPECT_EQ(queue.sizes().gated, 1U);
  EXPECT_EQ(queue.sizes().unschedulable, 0U);
  EXPECT_EQ(Pop(), "");
  PublishEvent(kPodDelete);
  EXPECT_EQ(queue.sizes().gated, 1U);
  clock.Advance(3s);
  Update(MakePod("a"), std::span(&kGatesGone, 1));
  EXPECT_EQ(queue.sizes().gated, 0U);
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(popped->attempts, 1);
  EXPECT_EQ(popped->first_attempt_ready, clock.Now()) << "the time behind a gate does not count";
}

TEST_F(QueueTest, APodMayBeGatedWhenItIsRequeued) {
  Add(MakePod("a"));
  Pop();
  Reject("Fit");
  Update(MakePod("a").Gate("late"), {});
  PublishEvent(kPodDelete);
  EXPECT_EQ(queue.sizes().gated, 1U);
  EXPECT_EQ(queue.sizes().active + queue.sizes().backoff + queue.sizes().unschedulable, 0U);
}

// --- updates and deletes ---

TEST_F(QueueTest, AnUpdateChangesTheRankOfAWaitingPod) {
  Add(MakePod("a"));
  Add(MakePod("b"));
  Update(MakePod("b").Priority(1), {});
  EXPECT_EQ(Pop(), "b");
  EXPECT_EQ(popped->info.priority(), 1);
}

TEST_F(QueueTest, AnUpdateRequeuesARejectedPodOnlyIfItsRejectorRegisteredForIt) {
  Add(MakePod("a"));
  Pop();
  Reject("Tolerations");
  constexpr ClusterEvent kToleration{EventResource::kTargetPod, framework::kUpdatePodToleration,
                                     "TargetPodUpdatePodToleration"};
  Update(MakePod("a").Label("x", "y"), std::span(&kToleration, 1));
  EXPECT_EQ(queue.sizes().unschedulable, 1U);
  policy.hopes.emplace("Tolerations", kToleration);
  Update(MakePod("a").Tolerating("k", "Exists"), std::span(&kToleration, 1));
  EXPECT_EQ(queue.sizes().unschedulable, 0U);
  EXPECT_EQ(queue.sizes().backoff, 1U);
}

TEST_F(QueueTest, AnUpdateKeepsAPodInBackoff) {
  Add(MakePod("a"));
  Pop();
  Break();
  Update(MakePod("a").Priority(3), {});
  EXPECT_EQ(queue.sizes().backoff, 1U);
  Wait(2s);
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(popped->info.priority(), 3);
}

TEST_F(QueueTest, AnUpdateOfAnUnknownPodAddsIt) {
  Update(MakePod("a"), {});
  EXPECT_EQ(Pop(), "a");
}

TEST_F(QueueTest, AnUpdateDoesNotQueueAPodInFlight) {
  Add(MakePod("a"));
  Pop();
  Update(MakePod("a").Priority(5), {});
  EXPECT_EQ(queue.sizes().in_flight, 1U);
  EXPECT_EQ(popped->info.priority(), 0);
  EXPECT_EQ(queue.sizes().active, 0U);
}

TEST_F(QueueTest, ADeletedPodIsInNoQueue) {
  Add(MakePod("active"));
  Add(MakePod("gated").Gate("g"));
  Delete("uid-of-active");
  Delete("uid-of-gated");
  Delete("uid-of-an-unknown-pod");
  const QueueSizes sizes = queue.sizes();
  EXPECT_EQ(sizes.active + sizes.backoff + sizes.unschedulable + sizes.gated + sizes.in_flight, 0U);
  EXPECT_EQ(Pop(), "");
}

TEST_F(QueueTest, AnAttemptContinuesWhenItsPodIsDeleted) {
  Add(MakePod("a"));
  Pop();
  Delete("uid-of-a");
  EXPECT_EQ(queue.sizes().in_flight, 1U) << "the owner of the attempt calls Done";
  queue.Done("uid-of-a");
  EXPECT_EQ(queue.sizes().in_flight, 0U);
}

TEST_F(QueueTest, RequeueDropsAPodThatIsAlreadyQueued) {
  Add(MakePod("a"));
  Pop();
  const auto old = popped;
  Add(MakePod("a"));
  old->rejectors = {"Fit"};
  queue.Requeue(old);
  EXPECT_EQ(queue.sizes().active, 1U);
  EXPECT_EQ(queue.sizes().in_flight, 0U);
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(popped->attempts, 1);
}

TEST_F(QueueTest, APodHasAtMostOneAttemptInProgress) {
  Add(MakePod("a"));
  Pop();
  Add(MakePod("a"));
  EXPECT_EQ(Pop(), "") << "the second entry is dropped";
  EXPECT_EQ(queue.sizes().active, 0U);
}

// --- in flight ---

TEST_F(QueueTest, EventsDuringAnAttemptAreEvaluatedAfterwards) {
  Add(MakePod("a"));
  Pop();
  PublishEvent(kPodDelete);
  Reject("Fit");
  EXPECT_EQ(queue.sizes().backoff, 1U);
}

TEST_F(QueueTest, EventsBeforeAnAttemptAreIgnored) {
  Add(MakePod("first"));
  Pop();
  const auto first = popped;
  PublishEvent(kPodDelete);
  Add(MakePod("second"));
  Pop();
  Reject("Fit");
  EXPECT_EQ(queue.sizes().unschedulable, 1U);
  popped = first;
  Reject("Fit");
  EXPECT_EQ(queue.sizes().backoff, 1U);
}

TEST_F(QueueTest, EventsAreDroppedWhenNoAttemptNeedsThem) {
  const auto kept = [&](int count) {
    EXPECT_THAT(Metrics(), HasSubstr("scheduler_inflight_events{event=\"AssignedPodDelete\"} " +
                                     std::to_string(count) + "\n"));
  };
  Add(MakePod("a"));
  Add(MakePod("b"));
  Pop();
  const auto a = popped;
  PublishEvent(kPodDelete);
  Pop();
  PublishEvent(kPodDelete);
  kept(2);
  popped = a;
  Break();
  kept(1);
  queue.Done("uid-of-b");
  kept(0);
  PublishEvent(kPodDelete);
  kept(0);
}

TEST_F(QueueTest, AnUpdateDuringAnAttemptIsEvaluatedOnRequeue) {
  constexpr ClusterEvent kToleration{EventResource::kTargetPod, framework::kUpdatePodToleration,
                                     "TargetPodUpdatePodToleration"};
  policy.hopes.emplace("Tolerations", kToleration);
  Add(MakePod("a"));
  Pop();
  Update(MakePod("a").Tolerating("k", "Exists"), std::span(&kToleration, 1));
  Reject("Tolerations");
  EXPECT_EQ(queue.sizes().backoff, 1U);
}

TEST_F(QueueTest, AnEventWithoutRegistrationIsNotRecorded) {
  Add(MakePod("a"));
  Pop();
  PublishEvent({EventResource::kNode, framework::kUpdateNodeTaint, "NodeUpdateNodeTaint"});
  EXPECT_THAT(Metrics(), Not(HasSubstr("NodeUpdateNodeTaint")));
}

TEST_F(QueueTest, EventsCanBeLimitedToSomePods) {
  for (const auto* name : {"low", "high"}) {
    Add(MakePod(name).Priority(name == std::string("high") ? 5 : 0));
    Pop();
    Reject("Fit");
  }
  queue.MoveAll(kPodDelete, {}, [](const QueuedPod& pod) { return pod.info.priority() < 5; });
  EXPECT_EQ(queue.sizes().unschedulable, 1U);
  EXPECT_EQ(Pop(), "low");
}

TEST_F(QueueTest, AllHintsOfAnEventShareWhatTheyCompute) {
  for (const auto* name : {"a", "b", "c"}) {
    Add(MakePod(name));
    Pop();
    Reject("Affinity");
  }
  Add(MakePod("flying"));
  Pop();
  for (int event = 1; event <= 2; ++event) {
    PublishEvent(kPodDelete);
    EXPECT_EQ(policy.hints, 3 * event);
    EXPECT_EQ(policy.prepared, event);
  }
  Reject("Affinity");
  EXPECT_EQ(policy.hints, 8) << "both events, for the pod that was in flight";
  EXPECT_EQ(policy.prepared, 2);
}

TEST_F(QueueTest, TheStrongestHintOfAllEventsDuringAnAttemptCounts) {
  Add(MakePod("a"));
  Pop();
  PublishEvent(kPodDelete);  // Fit: after the back-off
  PublishEvent(kNodeAdd);    // Affinity, which returned Pending: immediately
  popped->rejectors = {"Fit", "Affinity"};
  popped->pending = {"Affinity"};
  queue.Requeue(popped);
  EXPECT_EQ(queue.sizes().active, 1U);
}

// --- activation ---

TEST_F(QueueTest, ActivatedPodsSkipEventAndBackoff) {
  Add(MakePod("rejected"));
  Pop();
  Reject("Fit");
  Add(MakePod("broken"));
  Pop();
  Break();
  const std::vector<std::string> pods{"default/rejected", "default/broken", "default/unknown"};
  queue.Activate(pods);
  EXPECT_EQ(queue.sizes().active, 2U);
  EXPECT_THAT(Metrics(),
              HasSubstr("scheduler_queue_incoming_pods_total{event=\"ForceActivate\",queue=\"active\"} 2"));
}

TEST_F(QueueTest, APodActivatedInFlightIsRetriedAfterItsBackoff) {
  Add(MakePod("a"));
  Add(MakePod("other"));
  Pop();
  const auto a = popped;
  Pop();
  const std::string key = "default/a";
  queue.Activate(std::span(&key, 1));
  Reject("Affinity");
  EXPECT_EQ(queue.sizes().unschedulable, 1U) << "it was not meant for the other one";
  popped = a;
  Reject("Affinity");
  EXPECT_EQ(queue.sizes().backoff, 1U);
}

TEST_F(QueueTest, ActivationAppliesToTheRecreatedPod) {
  Add(MakePod("a").Uid("old"));
  Pop();
  const auto old = popped;
  Delete("old");
  Add(MakePod("a").Uid("new"));
  Pop();
  const std::string key = "default/a";
  queue.Activate(std::span(&key, 1));
  Reject("Affinity");
  EXPECT_EQ(queue.sizes().backoff, 1U) << "the new one was meant";
  queue.Activate(std::span(&key, 1));
  EXPECT_EQ(queue.sizes().active, 1U);
  EXPECT_EQ(Pop(), "a");
  EXPECT_EQ(popped->info.pod->metadata.uid, "new");
}

// --- nominations ---

TEST_F(QueueTest, NominationsCoverQueuedPodsAndPodsInFlight) {
  const auto nominated = [&] {
    std::map<std::string, std::string> nodes;
    for (const auto& [uid, nomination] : queue.nominator().all())
      nodes[uid] = words.node_names.Text(nomination.node);
    return nodes;
  };
  using Nodes = std::map<std::string, std::string>;
  Add(MakePod("a").Nominated("n1"));
  Add(MakePod("gated").Gate("g").Nominated("n2"));
  EXPECT_EQ(nominated(), (Nodes{{"uid-of-a", "n1"}, {"uid-of-gated", "n2"}}));
  Pop();
  queue.nominator().Set(popped, words.node_names.Intern("n3"));
  EXPECT_EQ(nominated()["uid-of-a"], "n3");
  Break();
  Update(MakePod("a").Nominated("n1"), {});
  EXPECT_EQ(nominated()["uid-of-a"], "n1") << "a changed nomination takes effect";
  Delete("uid-of-gated");
  Update(MakePod("a"), {});
  EXPECT_EQ(nominated(), Nodes{});
}

TEST_F(QueueTest, AnUnwrittenNominationSurvivesAnUnrelatedUpdate) {
  Add(MakePod("a"));
  Pop();
  Break();
  queue.nominator().Set(popped, words.node_names.Intern("n1"));
  Update(MakePod("a").Label("x", "y"), {});
  EXPECT_EQ(queue.nominator().all().size(), 1U);
  queue.nominator().Set(popped, cluster::NodeNameId{});
  EXPECT_THAT(queue.nominator().all(), IsEmpty());
}

// --- metrics ---

TEST_F(QueueTest, PendingPodsAreCountedByPlace) {
  const auto pending = [&](const std::string& place, int count) {
    EXPECT_THAT(Metrics(),
                HasSubstr("scheduler_pending_pods{queue=\"" + place + "\"} " + std::to_string(count) + "\n"));
  };
  for (const auto* place : {"active", "backoff", "unschedulable", "gated"}) pending(place, 0);
  Add(MakePod("a"));
  Add(MakePod("g").Gate("g"));
  pending("active", 1);
  pending("gated", 1);
  Pop();
  pending("active", 0);
  Reject("Fit");
  pending("unschedulable", 1);
  PublishEvent(kPodDelete);
  pending("unschedulable", 0);
  pending("backoff", 1);
  Update(MakePod("a").Label("x", "y"), {});
  pending("backoff", 1);
  Wait(2s);
  pending("backoff", 0);
  pending("active", 1);
  Delete("uid-of-a");
  Delete("uid-of-g");
  for (const auto* place : {"active", "backoff", "unschedulable", "gated"}) pending(place, 0);
}

TEST_F(QueueTest, EveryEntryIntoAQueueIsCountedWithItsEvent) {
  Add(MakePod("a"));
  Pop();
  Reject("Fit");
  PublishEvent(kPodDelete);
  Wait(2s);
  const auto counted = [&](const std::string& event, const std::string& place) {
    EXPECT_THAT(Metrics(), HasSubstr("scheduler_queue_incoming_pods_total{event=\"" + event + "\",queue=\"" +
                                     place + "\"} 1\n"));
  };
  counted("UnscheduledPodAdd", "active");
  counted("ScheduleAttemptFailure", "unschedulable");
  counted("AssignedPodDelete", "backoff");
  counted("BackoffComplete", "active");
}

TEST_F(QueueTest, UnschedulablePodsAreCountedByRejectorUntilTheNextAttempt) {
  Add(MakePod("a"));
  Pop();
  popped->rejectors = {"Fit", "Affinity"};
  queue.Requeue(popped);
  EXPECT_THAT(Metrics(),
              HasSubstr("scheduler_unschedulable_pods{plugin=\"Fit\",profile=\"default-scheduler\"} 1\n"));
  EXPECT_THAT(
      Metrics(),
      HasSubstr("scheduler_unschedulable_pods{plugin=\"Affinity\",profile=\"default-scheduler\"} 1\n"));
  PublishEvent(kPodDelete);
  Pop();
  EXPECT_THAT(Metrics(),
              HasSubstr("scheduler_unschedulable_pods{plugin=\"Fit\",profile=\"default-scheduler\"} 0\n"));
  Reject("Fit");
  Delete("uid-of-a");
  EXPECT_THAT(Metrics(),
              HasSubstr("scheduler_unschedulable_pods{plugin=\"Fit\",profile=\"default-scheduler\"} 0\n"));
}

TEST_F(QueueTest, EveryQueuedPodIsCountedOnceByCause) {
  const auto counted = [&](const std::string& cause, const std::string& place, int pods) {
    EXPECT_THAT(Metrics(), HasSubstr("berth_pending_pods_by_cause{cause=\"" + cause + "\",queue=\"" + place +
                                     "\"} " + std::to_string(pods) + "\n"));
  };
  Add(MakePod("a"));
  counted("new", "active", 1);
  Pop();
  counted("new", "active", 0);
  popped->rejectors = {"Fit", "Affinity"};
  queue.Requeue(popped);
  counted("Affinity+Fit", "unschedulable", 1);
  PublishEvent(kPodDelete);
  counted("Affinity+Fit", "unschedulable", 0);
  counted("Affinity+Fit", "backoff", 1);
  Pop();
  counted("Affinity+Fit", "backoff", 0);
  popped->rejectors.clear();
  queue.Requeue(popped);
  counted("error", "backoff", 1);
  Delete("uid-of-a");
  counted("error", "backoff", 0);
}

TEST(QueueOptionsTest, AZeroBackoffRequeuesPodsImmediately) {
  cluster::SymbolTable words;
  ManualClock clock;
  FakePolicy policy;
  metrics::Registry registry;
  const cluster::NoGrouping grouping;
  const cluster::PodGroups groups(grouping);
  SchedulingQueue queue({.max_backoff = 0s}, clock, policy, groups, registry);
  queue.Add(cluster::PreparePod(MakePod("a").Share(), words), 0);
  const auto pod = queue.Pop().pod;
  pod->rejectors = {"Fit"};
  queue.Requeue(pod);
  queue.MoveAll(kPodDelete, {});
  EXPECT_EQ(queue.sizes().active, 1U);
}

// --- deferred events ---

// Five rejected pods, of which three fit after kPodDelete; two hints are evaluated per step.
class DeferredTest : public QueueTest {
 protected:
  DeferredTest() {
    for (const char* name : {"a", "b", "c", "d", "e"}) Rejected(name, name[0] < 'd' ? "Fit" : "Affinity");
    clock.Advance(11s);  // no back-off is left
  }
  void Rejected(const std::string& name, const std::string& plugin) {
    few.Add(Info(MakePod(name).Uid("uid-" + name)), 0);
    const QueuedPodPtr pod = few.Pop().pod;
    ASSERT_EQ(pod->info.pod->metadata.name, name);
    pod->rejectors = {plugin};
    few.Requeue(pod);
  }
  std::size_t Steps() {
    std::size_t steps = 1;
    while (few.EvaluateDeferred()) ++steps;
    return steps;
  }

  SchedulingQueue few{{.evaluations_per_step = 2, .max_deferred_events = 3}, clock, policy, groups, registry};
};

TEST_F(DeferredTest, HintsAreEvaluatedInSteps) {
  few.MoveAll(kPodDelete, {});
  EXPECT_EQ(few.sizes().active, 0U);
  EXPECT_GE(Steps(), 3U) << "five hints, at most two in each step";
  EXPECT_EQ(few.sizes().active, 3U);
  EXPECT_EQ(few.sizes().unschedulable, 2U);
  EXPECT_FALSE(few.EvaluateDeferred());
}

TEST_F(DeferredTest, HintsInDifferentStepsShareWhatTheyCompute) {
  for (int i = 0; i < 2; ++i) few.MoveAll(kNodeAdd, {});
  Steps();
  EXPECT_EQ(policy.hints, 8) << "two for each of three pods; the first event moves the two others";
  EXPECT_EQ(policy.prepared, 2);
}

TEST_F(DeferredTest, EveryDeferredEventIsEvaluated) {
  few.MoveAll(kPodDelete, {});
  few.EvaluateDeferred();
  few.MoveAll(kNodeAdd, {});
  Steps();
  EXPECT_EQ(few.sizes().active, 5U);
}

TEST_F(DeferredTest, APodThatEntersLaterIsNotMoved) {
  few.MoveAll(kPodDelete, {});
  Rejected("later", "Fit");
  Steps();
  EXPECT_EQ(few.sizes().active, 3U);
  EXPECT_EQ(few.sizes().unschedulable, 3U);
}

TEST_F(DeferredTest, APodInFlightIsMovedByTheEvent) {
  few.Add(Info(MakePod("flying").Uid("uid-flying")), 0);
  const QueuedPodPtr flying = few.Pop().pod;
  few.MoveAll(kPodDelete, {});
  flying->rejectors = {"Fit"};
  few.Requeue(flying);
  EXPECT_EQ(few.sizes().backoff, 1U);
}

TEST_F(DeferredTest, UpdatedAndDeletedPodsAreCounted) {
  few.MoveAll(kPodDelete, {});
  few.Delete(*WithUid("uid-a"));
  few.Update(Info(MakePod("b").Uid("uid-b").Label("x", "y")), 0, {}, {});
  Steps();
  EXPECT_EQ(few.sizes().active, 2U);
  EXPECT_EQ(few.sizes().unschedulable, 2U);
}

// A replay receives the objects of a snapshot before the state of the queue.
TEST_F(DeferredTest, RestoredPodsAreNotMovedByEarlierEvents) {
  cluster::SymbolTable symbols;
  const SavedQueue saved = few.Save(symbols);
  few.MoveAll(kPodDelete, {});
  few.EvaluateDeferred();
  ASSERT_TRUE(few.Restore(saved, symbols).has_value());
  EXPECT_EQ(Steps(), 1U);
  EXPECT_EQ(few.sizes().unschedulable, 5U);
}

TEST_F(DeferredTest, BeyondTheLimitAllPodsAreRetried) {
  for (int i = 0; i < 3; ++i) few.MoveAll(kPodDelete, {});
  EXPECT_EQ(few.sizes().active, 0U);
  few.MoveAll(kPodDelete, {});
  EXPECT_EQ(few.sizes().active, 5U);
  EXPECT_THAT(Metrics(), HasSubstr("event=\"TooManyEvents\""));
  EXPECT_FALSE(few.EvaluateDeferred());
}

TEST_F(DeferredTest, AnEventForSomePodsCountsOnlyTheirHints) {
  const auto only = [](std::string names) {
    return [names = std::move(names)](const QueuedPod& pod) {
      return names.find(pod.info.pod->metadata.name) != std::string::npos;
    };
  };
  few.MoveAll(kPodDelete, {}, only("ad"));
  EXPECT_EQ(few.sizes().active, 1U) << "two hints are evaluated at once";
  few.MoveAll(kPodDelete, {}, only("bde"));
  EXPECT_EQ(few.sizes().active, 1U) << "three are too many";
  Steps();
  EXPECT_EQ(few.sizes().active, 2U);
  EXPECT_EQ(policy.hints, 5);
  EXPECT_EQ(few.sizes().unschedulable, 3U) << "c would fit, but the event does not concern it";
}

// Five rejected pods that no event helps; ten hints of ordinary size are evaluated per step.
class LargeObjectsTest : public QueueTest {
 protected:
  static PodBuilder WithLabels(const std::string& name, int count) {
    PodBuilder pod = MakePod(name).Uid("uid-" + name);
    for (int i = 0; i < count; ++i) pod.Label("key-" + std::to_string(i), "value");
    return pod;
  }
  void Rejected(const PodBuilder& pod) {
    ten.Add(Info(pod), 0);
    const QueuedPodPtr popped = ten.Pop().pod;
    popped->rejectors = {"Affinity"};
    ten.Requeue(popped);
  }
  // The number of hints that one step evaluates.
  int Step() {
    const int before = policy.hints;
    ten.EvaluateDeferred();
    return policy.hints - before;
  }

  SchedulingQueue ten{{.evaluations_per_step = 10}, clock, policy, groups, registry};
};

TEST_F(LargeObjectsTest, AHintThatReadsALargeObjectCountsSeveralTimes) {
  for (const char* name : {"a", "b", "c", "d", "e"}) Rejected(WithLabels(name, 3));
  ten.MoveAll(kPodDelete, {WithLabels("small", 50).Share(), nullptr});
  EXPECT_EQ(policy.hints, 5) << "at once";
  EXPECT_EQ(Step(), 0);
  ten.MoveAll(kPodDelete, {WithLabels("large", 1000).Share(), nullptr});
  EXPECT_EQ(policy.hints, 5) << "deferred";
  EXPECT_EQ(Step(), 2);
  while (ten.EvaluateDeferred()) {
  }
  EXPECT_EQ(policy.hints, 10) << "one for each pod";
}

TEST_F(LargeObjectsTest, AHintOfALargePodCountsSeveralTimes) {
  for (const char* name : {"a", "b", "c", "d"}) Rejected(WithLabels(name, 3));
  Rejected(WithLabels("large", 1000));
  ten.MoveAll(kPodDelete, {});
  EXPECT_EQ(policy.hints, 0);
  EXPECT_EQ(Step(), 5) << "the large pod is the last one";
  ten.Update(Info(WithLabels("large", 3)), 0, {}, {});
  ten.EvaluateDeferred();
  ten.MoveAll(kPodDelete, {});
  EXPECT_EQ(policy.hints, 10) << "it is not large any more";
  Rejected(WithLabels("larger", 2000));
  ten.EvaluateDeferred();
  ten.Delete(*WithUid("uid-larger"));
  ten.MoveAll(kPodDelete, {});
  EXPECT_EQ(policy.hints, 15) << "it is not in the queue any more";
}

// Two hints per step; 64 KiB for deferred events, and as much for events during attempts.
class EventBytesTest : public LargeObjectsTest {
 protected:
  QueuedPodPtr Begin(const std::string& name) {
    tight.Add(Info(MakePod(name).Uid("uid-" + name)), 0);
    return tight.Pop().pod;
  }
  void Reject(const QueuedPodPtr& pod) {
    pod->rejectors = {"Affinity"};
    tight.Requeue(pod);
  }
  // Returns whether the object is still in memory.
  bool Publish(int labels) {
    api::PodPtr pod = WithLabels("changed", labels).Share();
    const std::weak_ptr<const api::Pod> kept = pod;
    tight.MoveAll(kPodDelete, {std::move(pod), nullptr});
    return !kept.expired();
  }
  void ExpectInFlight(const std::string& event, int count) {
    EXPECT_THAT(Metrics(), HasSubstr("scheduler_inflight_events{event=\"" + event + "\"} " +
                                     std::to_string(count) + "\n"));
  }

  SchedulingQueue tight{
      {.evaluations_per_step = 2, .max_event_bytes = 64 << 10}, clock, policy, groups, registry};
};

TEST_F(EventBytesTest, AfterLargeEventsDuringItsAttemptAPodIsRetried) {
  const QueuedPodPtr first = Begin("first");
  EXPECT_TRUE(Publish(3));
  const QueuedPodPtr second = Begin("second");
  EXPECT_TRUE(Publish(3));
  ExpectInFlight("AssignedPodDelete", 2);
  EXPECT_FALSE(Publish(1000));
  ExpectInFlight("AssignedPodDelete", 0);
  ExpectInFlight("TooManyEvents", 2);
  const QueuedPodPtr third = Begin("third");
  EXPECT_TRUE(Publish(3));
  for (const QueuedPodPtr& pod : {first, second, third}) Reject(pod);
  EXPECT_EQ(tight.sizes().backoff, 2U);
  EXPECT_EQ(tight.sizes().unschedulable, 1U) << "the third attempt began after these events";
  ExpectInFlight("AssignedPodDelete", 0);
  ExpectInFlight("TooManyEvents", 0);
}

TEST_F(EventBytesTest, SmallEventsDuringAnAttemptExceedTheMemoryTogether) {
  const QueuedPodPtr pod = Begin("a");
  EXPECT_TRUE(Publish(200));
  EXPECT_FALSE(Publish(200));
  EXPECT_TRUE(Publish(200)) << "there is room again";
  ExpectInFlight("TooManyEvents", 1);
  ExpectInFlight("AssignedPodDelete", 1);
  EXPECT_FALSE(Publish(200));
  ExpectInFlight("TooManyEvents", 1);
  ExpectInFlight("AssignedPodDelete", 0);
  tight.Done("uid-a");
  ExpectInFlight("TooManyEvents", 0);
  const QueuedPodPtr next = Begin("b");
  EXPECT_TRUE(Publish(200));
  tight.Done("uid-b");
  Begin("c");
  EXPECT_TRUE(Publish(200)) << "the events of earlier attempts are forgotten";
}

TEST_F(EventBytesTest, EventsAfterLargeOnesAreEvaluated) {
  const QueuedPodPtr pod = Begin("a");
  Publish(1000);
  Publish(3);
  pod->pending = {"Fit"};
  Reject(pod);
  EXPECT_EQ(tight.sizes().active, 1U) << "a plugin that returned Pending needs no back-off";
}

TEST_F(EventBytesTest, BeyondTheMemoryOfDeferredEventsAllPodsAreRetried) {
  for (const char* name : {"a", "b", "c", "d", "e"}) Reject(Begin(name));
  clock.Advance(11s);  // no back-off is left
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Publish(200));
    EXPECT_EQ(policy.hints, 5 * i) << "deferred";
    while (tight.EvaluateDeferred()) {
    }
  }
  EXPECT_EQ(tight.sizes().unschedulable, 5U);
  EXPECT_TRUE(Publish(200));
  EXPECT_FALSE(Publish(200));
  EXPECT_EQ(tight.sizes().active, 5U);
  EXPECT_EQ(policy.hints, 15);
  EXPECT_THAT(Metrics(), HasSubstr("event=\"TooManyEvents\""));
  EXPECT_FALSE(tight.EvaluateDeferred());
}

// Whatever the size of a step, the same pods are moved.
TEST_F(QueueTest, DeferredEventsMoveThePodsThatImmediateOnesMove) {
  Random random(7);
  SchedulingQueue few{{.evaluations_per_step = 3}, clock, policy, groups, registry};
  const std::string plugins[] = {"Fit", "Affinity", "Gates"};
  const ClusterEvent events[] = {kNodeAdd, kPodDelete};
  for (int i = 0; i < 2000; ++i) {
    clock.Advance(200ms);
    const PodBuilder pod = MakePod("p" + std::to_string(random.Below(12)));
    switch (random.Below(5)) {
      case 0:
        for (SchedulingQueue* q : {&queue, &few}) q->Add(Info(pod), 0);
        break;
      case 1: {
        const std::string plugin = plugins[random.Below(3)];
        for (SchedulingQueue* q : {&queue, &few}) {
          if (const QueuedPodPtr popped = q->Pop().pod) {
            popped->rejectors = {plugin};
            q->Requeue(popped);
          }
        }
        break;
      }
      case 2:
        for (SchedulingQueue* q : {&queue, &few}) q->Delete(*pod.Share());
        break;
      case 3:
        for (SchedulingQueue* q : {&queue, &few}) q->Tick();
        break;
      default: {
        const ClusterEvent& event = events[random.Below(2)];
        for (SchedulingQueue* q : {&queue, &few}) q->MoveAll(event, {});
        while (few.EvaluateDeferred()) {
        }
        queue.EvaluateDeferred();
      }
    }
    const QueueSizes a = queue.sizes(), b = few.sizes();
    ASSERT_EQ(std::tie(a.active, a.backoff, a.unschedulable), std::tie(b.active, b.backoff, b.unschedulable))
        << i;
  }
}

}  // namespace
}  // namespace berth::queue
