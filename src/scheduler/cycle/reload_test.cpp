// Replacement of the profiles of a running scheduler.
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
    Build(config::DefaultSchedulerConfig(), registry);
  }

  Scheduler::Reconfigured Reload(const config::SchedulerConfig& config) {
    std::vector<std::string> notes;
    auto set =
        engine->Prepare(config, registry, notes, {.registry = &metrics, .clock = &clock, .options = {}}, {});
    EXPECT_TRUE(set.has_value());
    const auto result =
        scheduler->Reconfigure({.replace_profiles = [&] { engine->Use(*set, clock.Now()); },
                                .extenders = (*set)->extenders,
                                .percentage_of_nodes_to_score = config.percentage_of_nodes_to_score,
                                .initial_backoff = config.pod_initial_backoff,
                                .max_backoff = config.pod_max_backoff});
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

TEST_F(ReloadTest, ANewQueueSortOrdersTheWaitingPods) {
  Start();
  for (const auto* name : {"a", "b", "c"})
    loop.sink().On(ports::Change<api::Pod>{nullptr, MakePod(name).Uid(name).Share()});
  AddNode(MakeNode("n1").Cpu("4").Memory("4Gi"));
  // Handled in the same iteration, before the first decision.
  loop.Post([this] {
    std::vector<std::string> notes;
    auto set = engine
                   ->Prepare(ConfigOf("[{plugins: {queueSort: {enabled: [{name: LastNameFirst}], "
                                      "disabled: [{name: '*'}]}}}]"),
                             registry, notes, {}, {})
                   .value();
    scheduler->Reconfigure({.replace_profiles = [&] { engine->Use(set, clock.Now()); },
                            .extenders = set->extenders,
                            .percentage_of_nodes_to_score = 0,
                            .initial_backoff = std::chrono::seconds(1),
                            .max_backoff = std::chrono::seconds(10)});
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
