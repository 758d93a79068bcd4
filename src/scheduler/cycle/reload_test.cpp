// Replacement of the profiles of a running scheduler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "scheduler/extenders/fake_transport.hpp"
#include "testing/builders.hpp"

namespace berth::cycle {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Waits at Permit until the test allows the pod. `alive` counts the instances.
class Doorkeeper final : public framework::PermitPlugin {
 public:
  explicit Doorkeeper(int& alive) : alive_(alive) { ++alive_; }
  ~Doorkeeper() override { --alive_; }
  std::string_view Name() const override { return "Doorkeeper"; }
  framework::PermitResult Permit(const framework::Placement&) override {
    return {{framework::Code::kWait, {}, {}}, std::chrono::minutes(5)};
  }

 private:
  int& alive_;
};

class LastNameFirst final : public framework::QueueSortPlugin {
 public:
  std::string_view Name() const override { return "LastNameFirst"; }
  bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const override {
    return a.leading_pod().info.key > b.leading_pod().info.key;
  }
};

// Rejects all nodes. Its argument names the event after which pods are retried, "Node" or "Pod".
class Refusing final : public framework::FilterPlugin {
 public:
  Refusing(std::string event, std::string reason, framework::Handle& handle)
      : event_(std::move(event)), reason_(handle.reasons.Intern(reason)) {}
  std::string_view Name() const override { return "Refusing"; }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override {
    out.Reject(reason_, attempt.nodes().rows()) |= candidates;
  }
  std::vector<framework::EventRegistration> EventsToRegister() const override {
    return {{event_ == "Node" ? framework::EventResource::kNode : framework::EventResource::kAssignedPod,
             framework::kAdd}};
  }

 private:
  const std::string event_;
  const framework::ReasonId reason_;
};

config::SchedulerConfig ConfigOf(const std::string& profiles) {
  return config::ParseSchedulerConfig(
             "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
             "profiles: " +
             profiles)
      .value();
}

class ReloadTest : public ::testing::Test, protected SchedulerEnvironment {
 protected:
  ReloadTest() : registry(assembly::InTreePlugins()) {
    registry.AddForeign("Doorkeeper",
                        [this](const framework::RawArgs&, framework::Handle&) -> framework::PluginOrError {
                          return std::make_unique<Doorkeeper>(doorkeepers);
                        });
    registry.AddForeign("LastNameFirst",
                        [](const framework::RawArgs&, framework::Handle&) -> framework::PluginOrError {
                          return std::make_unique<LastNameFirst>();
                        });
    registry.AddForeign(
        "Refusing", [](const framework::RawArgs& raw, framework::Handle& handle) -> framework::PluginOrError {
          const config::Value* event = raw.value->Find("event");
          return std::make_unique<Refusing>(event->text, "retried after " + event->text, handle);
        });
    Build(config::DefaultSchedulerConfig(), registry);
  }
  static config::SchedulerConfig RefusingUntil(const std::string& event) {
    return ConfigOf(
        "[{plugins: {filter: {enabled: [{name: Refusing}]}}, pluginConfig: [{name: Refusing, args: "
        "{event: " +
        event + "}}]}]");
  }
  static config::SchedulerConfig WithExtender(const std::string& url, const std::string& verb) {
    config::SchedulerConfig config = config::DefaultSchedulerConfig();
    config::ExtenderConfig& extender = config.extenders.emplace_back();
    extender.url_prefix = url;
    extender.http_timeout = std::chrono::seconds(5);
    extender.node_cache_capable = true;
    (verb == "bind" ? extender.bind_verb : extender.filter_verb) = verb;
    return config;
  }
  std::size_t Failures() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        events.events, [](const ports::Event& event) { return event.reason == "FailedScheduling"; }));
  }
  static api::PodPtr PodOf(const std::string& scheduler_name, const std::string& name) {
    PodBuilder pod = MakePod(name).Uid(name);
    pod.raw().spec.scheduler_name = scheduler_name;
    return pod.Share();
  }

  Scheduler::Reconfigured Reload(const config::SchedulerConfig& config) {
    const auto result = SchedulerEnvironment::Reload(config, registry, {extender_environment.Maker(), {}});
    Settle();
    return result;
  }
  void Start() {
    loop.sink().OnSynced();
    Settle();
  }
  void AddNode(berth::testing::NodeBuilder node) {
    loop.sink().On(ports::Change<api::Node>{nullptr, std::make_shared<const api::Node>(node)});
  }
  api::PodPtr AddPod(const PodBuilder& pod) {
    api::PodPtr shared = pod.Share();
    loop.sink().On(ports::Change<api::Pod>{nullptr, shared});
    Settle();
    return shared;
  }
  std::vector<std::string> Bound() const {
    std::vector<std::string> bound;
    for (const ports::Binding& binding : api.bindings) bound.push_back(binding.name + "@" + binding.node);
    return bound;
  }
  std::size_t Waiting() const {
    const queue::QueueSizes sizes = scheduler->queue().sizes();
    return sizes.active + sizes.backoff + sizes.unschedulable + sizes.gated;
  }

  runtime::Registry registry;
  int doorkeepers = 0;
  extenders::FakeExtenders extender_environment;
};

TEST_F(ReloadTest, APodThatARemovedPluginRejectedIsRetried) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi").Taint("only", "", "NoSchedule"));
  Start();
  AddPod(MakePod("a"));
  EXPECT_THAT(Bound(), IsEmpty());
  Reload(ConfigOf("[{plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}}]"));
  Wait(std::chrono::seconds(2));
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
}

TEST_F(ReloadTest, ResultsOfTheFormerProfileAreNotReused) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  AddNode(MakeNode("n2").Cpu("4").Memory("4Gi").Taint("only", "", "NoSchedule"));
  Start();
  // Three pods of one shape: the cache keeps it.
  for (const auto* name : {"a", "b", "c"}) AddPod(MakePod(name).Uid(name).Cpu("1"));
  EXPECT_THAT(Bound(), ElementsAre("a@n1", "b@n1", "c@n1"));
  Reload(ConfigOf("[{plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}}]"));
  AddPod(MakePod("d").Uid("d").Cpu("1"));
  EXPECT_EQ(Bound().back(), "d@n2");
}

TEST_F(ReloadTest, PodsWithoutAProfileLeaveTheQueueAndReturnWithTheProfile) {
  Start();
  AddPod(MakePod("a").Uid("a"));
  EXPECT_EQ(Waiting(), 1U);
  const auto removed = Reload(ConfigOf("[{schedulerName: other}]"));
  EXPECT_EQ(removed.left, 1U);
  EXPECT_EQ(Waiting(), 0U);
  EXPECT_EQ(scheduler->unclaimed_pods(), 1U);
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Wait(std::chrono::minutes(10));
  EXPECT_THAT(Bound(), IsEmpty());
  const auto restored = Reload(config::DefaultSchedulerConfig());
  EXPECT_EQ(restored.taken, 1U);
  EXPECT_EQ(scheduler->unclaimed_pods(), 0U);
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
}

TEST_F(ReloadTest, ANewProfileTakesPodsThatArrivedBefore) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Start();
  PodBuilder pod = MakePod("a").Uid("a");
  pod.raw().spec.scheduler_name = "batch";
  AddPod(pod);
  PodBuilder deleted = MakePod("gone").Uid("gone");
  deleted.raw().spec.scheduler_name = "batch";
  const api::PodPtr gone = AddPod(deleted);
  loop.sink().On(ports::Change<api::Pod>{gone, nullptr});
  Settle();
  EXPECT_EQ(Reload(ConfigOf("[{schedulerName: default-scheduler}, {schedulerName: batch}]")).taken, 1U);
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
}

TEST_F(ReloadTest, ABindingFinishesWithTheProfileThatStartedIt) {
  api.hold = true;
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Start();
  AddPod(MakePod("a").Uid("a"));
  Reload(ConfigOf("[{schedulerName: other}]"));
  clock.Advance(std::chrono::minutes(1));
  EXPECT_EQ(engine->ReleaseReplaced(clock.Now()), 1U) << "the binding still uses it";
  api.Release();
  Settle();
  ASSERT_THAT(events.events, SizeIs(1));
  EXPECT_EQ(events.events[0].reason, "Scheduled");
}

TEST_F(ReloadTest, APodWhoseBindingFailsAfterItsProfileIsGoneIsNotLost) {
  api.hold = true;
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Start();
  AddPod(MakePod("a").Uid("a"));
  Reload(ConfigOf("[{schedulerName: other}]"));
  api.answer = Fail(ErrorCode::kUnavailable, "no connection");
  api.Release();
  Settle();
  EXPECT_EQ(Waiting(), 0U);
  EXPECT_EQ(scheduler->unclaimed_pods(), 1U);
  api.answer = {};
  api.hold = false;
  Reload(config::DefaultSchedulerConfig());
  EXPECT_THAT(Bound(), ElementsAre("a@n1", "a@n1")) << "the failed binding and the next one";
}

TEST_F(ReloadTest, APodInPermitWaitsForTheFormerPluginWhichLivesUntilThen) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Start();
  Reload(ConfigOf("[{plugins: {permit: {enabled: [{name: Doorkeeper}]}}}]"));
  AddPod(MakePod("a").Uid("a"));
  EXPECT_THAT(Bound(), IsEmpty());
  Reload(config::DefaultSchedulerConfig());
  clock.Advance(std::chrono::minutes(1));
  engine->ReleaseReplaced(clock.Now());
  EXPECT_EQ(doorkeepers, 1);
  framework::WaitingPod* const waiting = engine->handle().scheduler.FindWaitingPod("a");
  ASSERT_NE(waiting, nullptr);
  waiting->Allow("Doorkeeper");
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
  EXPECT_EQ(engine->ReleaseReplaced(clock.Now()), 0U);
  EXPECT_EQ(doorkeepers, 0);
}

TEST_F(ReloadTest, AWriteThatHasNoResultKeepsNoPluginOfADestroyedScheduler) {
  api.hold = true;
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Start();
  Reload(ConfigOf("[{plugins: {permit: {enabled: [{name: Doorkeeper}]}}}]"));
  AddPod(MakePod("a").Uid("a"));
  engine->handle().scheduler.FindWaitingPod("a")->Allow("Doorkeeper");
  Settle();
  ASSERT_THAT(Bound(), ElementsAre("a@n1"));
  EXPECT_EQ(doorkeepers, 1);
  scheduler.reset();
  engine.reset();
  EXPECT_EQ(doorkeepers, 0);
}

TEST_F(ReloadTest, APodInPermitIsRejectedWhenTheSchedulerStops) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Start();
  Reload(ConfigOf("[{plugins: {permit: {enabled: [{name: Doorkeeper}]}}}]"));
  AddPod(MakePod("a").Uid("a"));
  ASSERT_NE(engine->handle().scheduler.FindWaitingPod("a"), nullptr);
  ASSERT_EQ(engine->cache().assumed_count(), 1U);
  scheduler->Drain(std::chrono::minutes(1));
  Settle();
  EXPECT_EQ(engine->handle().scheduler.FindWaitingPod("a"), nullptr) << "no other pod can allow it any more";
  EXPECT_EQ(engine->cache().assumed_count(), 0U);
  EXPECT_EQ(scheduler->unconfirmed_bindings(), 0U);
  EXPECT_THAT(Bound(), IsEmpty());
}

TEST_F(ReloadTest, APodInPermitKeepsNoPluginOfADestroyedScheduler) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Start();
  Reload(ConfigOf("[{plugins: {permit: {enabled: [{name: Doorkeeper}]}}}]"));
  AddPod(MakePod("a").Uid("a"));
  ASSERT_NE(engine->handle().scheduler.FindWaitingPod("a"), nullptr);
  scheduler.reset();
  engine.reset();
  EXPECT_EQ(doorkeepers, 0);
}

TEST_F(ReloadTest, ADeletedPodLeavesPermitAlsoIfItsProfileIsGone) {
  AddNode(MakeNode("n1").Cpu("1").Memory("4Gi"));
  Start();
  Reload(
      ConfigOf("[{schedulerName: default-scheduler}, {schedulerName: batch, plugins: {permit: {enabled: "
               "[{name: Doorkeeper}]}}}]"));
  PodBuilder builder = MakePod("a").Uid("a").Cpu("1");
  builder.raw().spec.scheduler_name = "batch";
  const api::PodPtr pod = AddPod(builder);
  Reload(config::DefaultSchedulerConfig());
  AddPod(MakePod("next").Uid("next").Cpu("1"));
  ASSERT_NE(engine->handle().scheduler.FindWaitingPod("a"), nullptr);
  api::Pod deleting = *pod;  // a finalizer keeps it
  deleting.metadata.deletion_timestamp = "2024-01-01T00:00:00Z";
  loop.sink().On(ports::Change<api::Pod>{pod, std::make_shared<const api::Pod>(std::move(deleting))});
  Wait(std::chrono::seconds(2));
  EXPECT_EQ(engine->handle().scheduler.FindWaitingPod("a"), nullptr);
  EXPECT_THAT(Bound(), ElementsAre("next@n1"));
}

TEST_F(ReloadTest, ANewQueueSortOrdersTheWaitingPods) {
  Start();
  for (const auto* name : {"a", "b", "c"})
    loop.sink().On(ports::Change<api::Pod>{nullptr, MakePod(name).Uid(name).Share()});
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  // Handled in the same iteration, before the first decision.
  loop.Post([this] {
    SchedulerEnvironment::Reload(
        ConfigOf("[{plugins: {queueSort: {enabled: [{name: LastNameFirst}], disabled: [{name: '*'}]}}}]"),
        registry);
  });
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("c@n1", "b@n1", "a@n1"));
}

TEST_F(ReloadTest, PluginsKnowThePodsThatWerePlacedBefore) {
  AddNode(MakeNode("n1").Cpu("1").Memory("4Gi"));
  Start();
  PodBuilder low = MakePod("low").Uid("low").Cpu("1");
  const api::PodPtr pod = AddPod(low);
  ASSERT_THAT(Bound(), ElementsAre("low@n1"));
  api::Pod bound = *pod;
  bound.spec.node_name = "n1";
  loop.sink().On(ports::Change<api::Pod>{pod, std::make_shared<const api::Pod>(std::move(bound))});
  Settle();
  Reload(config::DefaultSchedulerConfig());
  AddPod(MakePod("high").Uid("high").Cpu("1").Priority(10));
  EXPECT_THAT(api.deletions, SizeIs(1)) << "preemption finds the victim";
}

TEST_F(ReloadTest, EventsAreEvaluatedWithTheHintsOfTheNewPlugins) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Start();
  Reload(RefusingUntil("Pod"));
  AddPod(MakePod("a").Uid("a"));
  EXPECT_EQ(Failures(), 1U);
  AddNode(MakeNode("n2").Cpu("4").Memory("4Gi"));
  Wait(std::chrono::seconds(30));
  EXPECT_EQ(Failures(), 1U) << "the plugin is not registered for nodes";
  Reload(RefusingUntil("Node"));
  Wait(std::chrono::seconds(30));
  EXPECT_EQ(Failures(), 2U) << "a reload retries rejected pods once";
  AddNode(MakeNode("n3").Cpu("4").Memory("4Gi"));
  Wait(std::chrono::seconds(30));
  EXPECT_EQ(Failures(), 3U) << "the new instance is registered for nodes";
}

TEST_F(ReloadTest, ManyRejectedPodsAreRetriedInSteps) {
  SchedulerOptions options;
  options.queue.evaluations_per_step = 10;
  Build(config::DefaultSchedulerConfig(), registry, options);
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi").Taint("only", "", "NoSchedule"));
  Start();
  for (int i = 0; i < 95; ++i) AddPod(MakePod("p" + std::to_string(i)).Uid(std::to_string(i)));
  Wait(std::chrono::seconds(60));
  ASSERT_EQ(scheduler->queue().sizes().unschedulable, 95U);
  SchedulerEnvironment::Reload(ConfigOf("[{plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}}]"),
                               registry);
  for (std::size_t before = 95; before > 0;) {
    ASSERT_TRUE(loop.RunOnce(*scheduler));
    const std::size_t left = scheduler->queue().sizes().unschedulable;
    EXPECT_LE(before - left, 10U) << "between two decisions";
    before = left;
  }
  Settle();
  EXPECT_THAT(Bound(), SizeIs(95));
}

TEST_F(ReloadTest, ManyPodsOfANewProfileAreTakenInSteps) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi").Pods("2000"));
  Start();
  for (int i = 0; i < 1200; ++i)
    loop.sink().On(ports::Change<api::Pod>{nullptr, PodOf("batch", "p" + std::to_string(i))});
  Settle();
  EXPECT_EQ(SchedulerEnvironment::Reload(
                ConfigOf("[{schedulerName: default-scheduler}, {schedulerName: batch}]"), registry)
                .taken,
            1200U);
  ASSERT_TRUE(loop.RunOnce(*scheduler));
  EXPECT_GT(scheduler->queue().sizes().active, 0U);
  EXPECT_LT(scheduler->queue().sizes().active, 600U) << "between two decisions";
  // A pod that has not moved yet is deleted: "p999" is the last name.
  const api::PodPtr gone = PodOf("batch", "p999");
  loop.sink().On(ports::Change<api::Pod>{gone, nullptr});
  Settle();
  EXPECT_THAT(Bound(), SizeIs(1199));
  EXPECT_THAT(Bound(), Not(Contains("p999@n1")));
}

TEST_F(ReloadTest, APodThatIsTriedBeforeItHasLeftTheQueueIsNotDecided) {
  Start();
  for (int i = 0; i < 1200; ++i) AddPod(MakePod("p" + std::to_string(i)).Uid(std::to_string(i)));
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi").Pods("2000"));
  loop.Post([this] {
    EXPECT_EQ(SchedulerEnvironment::Reload(ConfigOf("[{schedulerName: other}]"), registry).left, 1200U);
  });
  Wait(std::chrono::minutes(6));
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(scheduler->unclaimed_pods(), 1200U);
  EXPECT_EQ(Waiting(), 0U);
  EXPECT_EQ(Reload(config::DefaultSchedulerConfig()).taken, 1200U);
  EXPECT_THAT(Bound(), SizeIs(1200));
}

TEST_F(ReloadTest, ThePluginsOfARemovedProfileAreDestroyed) {
  Start();
  Reload(
      ConfigOf("[{schedulerName: default-scheduler}, {schedulerName: batch, plugins: {permit: {enabled: "
               "[{name: Doorkeeper}]}}}]"));
  ASSERT_EQ(doorkeepers, 1);
  Reload(config::DefaultSchedulerConfig());
  clock.Advance(std::chrono::minutes(1));
  EXPECT_EQ(engine->ReleaseReplaced(clock.Now()), 0U);
  EXPECT_EQ(doorkeepers, 0);
  EXPECT_EQ(engine->profiles().NameOf(1), "batch") << "its index stays reserved";
}

TEST_F(ReloadTest, ManyNamesOfProfilesAreRefused) {
  Start();
  std::string profiles = "[{schedulerName: default-scheduler}";
  for (std::size_t i = 0; i < runtime::ProfileList::kNamesMax; ++i)
    profiles += ", {schedulerName: p" + std::to_string(i) + "}";
  std::vector<std::string> notes;
  const auto set = engine->Prepare(ConfigOf(profiles + "]"), registry, notes, {}, {});
  ASSERT_FALSE(set.has_value());
  EXPECT_THAT(set.error().message, ::testing::HasSubstr("more than 1000 different names"));
}

TEST_F(ReloadTest, TheNextDecisionUsesTheChangedExtender) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  AddNode(MakeNode("n2").Cpu("4").Memory("4Gi"));
  extender_environment.Answer("http://one/filter", R"({"NodeNames":["n1"]})");
  extender_environment.Answer("http://two/filter", R"({"NodeNames":["n2"]})");
  Start();
  Reload(WithExtender("http://one", "filter"));
  AddPod(MakePod("a").Uid("a"));
  Reload(WithExtender("http://two", "filter"));
  AddPod(MakePod("b").Uid("b"));
  Reload(config::DefaultSchedulerConfig());
  AddPod(MakePod("c").Uid("c"));
  EXPECT_THAT(extender_environment.Urls(), ElementsAre("http://one/filter", "http://two/filter"));
  ASSERT_THAT(Bound(), SizeIs(3));
  EXPECT_EQ(Bound()[0], "a@n1");
  EXPECT_EQ(Bound()[1], "b@n2");
}

TEST_F(ReloadTest, ABindingFinishesWithTheExtenderThatStartedIt) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Start();
  Reload(WithExtender("http://one", "bind"));
  AddPod(MakePod("a").Uid("a"));
  ASSERT_THAT(extender_environment.unanswered, SizeIs(1));
  Reload(config::DefaultSchedulerConfig());
  clock.Advance(std::chrono::minutes(1));
  EXPECT_EQ(engine->ReleaseReplaced(clock.Now()), 1U) << "the binding still uses it";
  extender_environment.unanswered[0](extenders::Reply{200, "{}"});
  extender_environment.unanswered.clear();
  Settle();
  EXPECT_THAT(Bound(), IsEmpty()) << "the extender has bound it";
  ASSERT_THAT(events.events, SizeIs(1));
  EXPECT_EQ(events.events[0].reason, "Scheduled");
  EXPECT_EQ(engine->ReleaseReplaced(clock.Now()), 0U);
}

TEST_F(ReloadTest, AStandbyDecidesWithTheNewProfilesWhenItLeads) {
  SchedulerOptions options;
  options.stand_by = true;
  Build(config::DefaultSchedulerConfig(), registry, options);
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi").Taint("only", "", "NoSchedule"));
  Start();
  AddPod(MakePod("a").Uid("a"));
  Reload(ConfigOf("[{plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}}]"));
  EXPECT_THAT(Bound(), IsEmpty());
  scheduler->Lead();
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
}

TEST_F(ReloadTest, AThousandReloadsLeaveNothingBehind) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Start();
  for (int i = 0; i < 1000; ++i) {
    Reload(config::DefaultSchedulerConfig());
    clock.Advance(std::chrono::seconds(1));
    EXPECT_EQ(engine->ReleaseReplaced(clock.Now()), 0U);
  }
  EXPECT_EQ(engine->profiles().size(), 1U);
  AddPod(MakePod("a").Uid("a"));
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
}

TEST_F(ReloadTest, AnInvalidProfileChangesNothing) {
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  Start();
  const auto before = engine->profiles().front();
  std::vector<std::string> notes;
  const auto set = engine->Prepare(ConfigOf("[{plugins: {filter: {enabled: [{name: Missing}]}}}]"), registry,
                                   notes, {}, {});
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(engine->profiles().front(), before);
  AddPod(MakePod("a").Uid("a"));
  EXPECT_THAT(Bound(), ElementsAre("a@n1"));
}

}  // namespace
}  // namespace berth::cycle
