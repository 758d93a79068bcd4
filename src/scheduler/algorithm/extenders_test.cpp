#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/extenders/fake_transport.hpp"
#include "testing/builders.hpp"
#include "testing/fakes.hpp"

namespace berth::algorithm {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kUrl = "http://x";

// A scheduler with extenders whose responses are set by the test.
class SchedulerWithExtendersTest : public ::testing::Test {
 protected:
  static config::ExtenderConfig Extender(std::string url = kUrl) {
    config::ExtenderConfig config;
    config.url_prefix = std::move(url);
    config.node_cache_capable = true;
    return config;
  }
  static config::ExtenderConfig Filtering() {
    config::ExtenderConfig config = Extender();
    config.filter_verb = "filter";
    return config;
  }
  static config::ExtenderConfig Binding(std::string url = kUrl, bool ignorable = false) {
    config::ExtenderConfig config = Extender(std::move(url));
    config.bind_verb = "bind";
    config.ignorable = ignorable;
    return config;
  }

  void Start(std::vector<config::ExtenderConfig> extenders) {
    config::SchedulerConfig config = config::DefaultSchedulerConfig({}, &assembly::InTreePlugins().codecs());
    config.extenders = std::move(extenders);
    std::vector<std::string> notes;
    engine =
        std::move(assembly::Engine::Build(config, assembly::InTreePlugins(), {api, events, loop, services},
                                          notes, {}, {.make_transport = world.Maker(), .circuit = {}})
                      .value());
    cycle::SchedulerParts parts{loop,
                                services,
                                engine->handle(),
                                engine->cache(),
                                engine->profiles(),
                                clock,
                                metrics,
                                engine->shared_extenders(),
                                *fence,
                                tracer,
                                [this](std::size_t profile) { return engine->IsMeasured(profile); }};
    scheduler = std::make_unique<cycle::Scheduler>(cycle::SchedulerOptions{}, parts);
    for (const char* name : {"a", "b"}) {
      loop.sink().On(ports::Change<api::Node>{
          nullptr, std::make_shared<const api::Node>(MakeNode(name).Cpu("1").Memory("4Gi"))});
    }
    loop.sink().OnSynced();
    Settle();
  }
  void Settle() {
    while (loop.RunOnce(*scheduler)) {
    }
  }
  api::PodPtr AddPod(const std::string& name = "p") {
    api::PodPtr pod = MakePod(name).Cpu("500m").Share();
    loop.sink().On(ports::Change<api::Pod>{nullptr, pod});
    Settle();
    return pod;
  }
  std::vector<std::string> Events() const {
    std::vector<std::string> texts;
    for (const ports::Event& event : events.events) texts.push_back(event.reason + ": " + event.note);
    return texts;
  }
  std::vector<std::string> Bound() const {
    std::vector<std::string> bound;
    for (const ports::Binding& binding : api.bindings) bound.push_back(binding.name + "@" + binding.node);
    return bound;
  }
  void Answer(const std::string& verb, std::string body, int status = 200) {
    world.Answer(kUrl + ("/" + verb), std::move(body), status);
  }

  ManualClock clock;
  metrics::Registry metrics;
  berth::testing::FakeApiWriter api;
  berth::testing::FakeEventSink events;
  extenders::FakeExtenders world;
  std::unique_ptr<LeaseFence> fence{new LeaseFence(LeaseFence::AlwaysOpen(clock))};
  tracing::NoTracer tracer;
  cycle::ClusterLoop loop{clock};
  cycle::ServicesProxy services;
  std::unique_ptr<assembly::Engine> engine;
  std::unique_ptr<cycle::Scheduler> scheduler;
};

TEST_F(SchedulerWithExtendersTest, ThePodIsPlacedOnANodeThatTheExtenderAccepts) {
  Answer("filter", R"({"NodeNames":["b"]})");
  Start({Filtering()});
  AddPod();
  EXPECT_THAT(Bound(), ElementsAre("p@b"));
}

TEST_F(SchedulerWithExtendersTest, APodRejectedByAnExtenderIsRetriedAfterAnyEvent) {
  Answer("filter", R"({"NodeNames":[],"FailedNodes":{"a":"too hot","b":"too hot"}})");
  Start({Filtering()});
  AddPod();
  ASSERT_THAT(Events(), SizeIs(1));
  EXPECT_THAT(Events()[0], HasSubstr("FailedScheduling: 0/2 nodes are available: 2 too hot. preemption: "));
  EXPECT_EQ(api.patches.back().reason, "Unschedulable");
  Answer("filter", R"({"NodeNames":["a"]})");
  loop.sink().On(ports::Change<api::Namespace>{nullptr, std::make_shared<const api::Namespace>()});
  api::CSINode unrelated;
  unrelated.metadata.name = "a";
  loop.sink().On(ports::Change<api::CSINode>{nullptr, std::make_shared<const api::CSINode>(unrelated)});
  clock.Advance(std::chrono::seconds(30));
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("p@a"));
}

TEST_F(SchedulerWithExtendersTest, TheReasonOfTheLastExtenderReplacesThatOfAnEarlierOne) {
  config::ExtenderConfig second = Extender("http://y");
  second.filter_verb = "filter";
  Answer("filter", R"({"NodeNames":["b"],"FailedNodes":{"a":"early","gone":"early"}})");
  world.Answer("http://y/filter", R"({"NodeNames":[],"FailedNodes":{"a":"late","b":"late","gone":"late"}})");
  Start({Filtering(), second});
  AddPod();
  ASSERT_THAT(Events(), SizeIs(1));
  EXPECT_THAT(Events()[0], HasSubstr("0/2 nodes are available: 3 late. "));
}

TEST_F(SchedulerWithExtendersTest, AnExtenderFailureFailsTheAttempt) {
  Answer("filter", "", 503);
  Start({Filtering()});
  AddPod();
  EXPECT_THAT(Events(),
              ElementsAre("FailedScheduling: failed filter with extender at URL http://x/filter, code 503"));
  EXPECT_EQ(api.patches.back().reason, "SchedulerError");
}

TEST_F(SchedulerWithExtendersTest, ScoresOfAnExtenderAreAdded) {
  config::ExtenderConfig config = Extender();
  config.prioritize_verb = "prioritize";
  config.weight = 100;
  Answer("prioritize", R"([{"Host":"b","Score":10}])");
  Start({config});
  AddPod("p");
  AddPod("q");
  EXPECT_THAT(Bound(), ElementsAre("p@b", "q@b"));
}

// --- waiting ---

TEST_F(SchedulerWithExtendersTest, AStopCancelsTheWaitWithoutAnEvent) {
  Start({Filtering()});
  world.on_ask = [&](const extenders::TransportRequest&) { loop.Stop(); };
  AddPod();
  EXPECT_EQ(world.cancelled, 1U);
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_THAT(api.patches, IsEmpty());
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(scheduler->queue().sizes().backoff, 1U) << "the pod is not lost";
}

TEST_F(SchedulerWithExtendersTest, ADrainCancelsTheWait) {
  Start({Filtering()});
  world.on_ask = [&](const extenders::TransportRequest&) { scheduler->Drain(std::chrono::seconds(1)); };
  AddPod();
  EXPECT_EQ(world.cancelled, 1U);
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(SchedulerWithExtendersTest, ChangesDuringAWaitAreHandledAfterTheDecision) {
  Start({Filtering()});
  world.on_ask = [&](const extenders::TransportRequest& request) {
    if (world.requests.size() > 1) return;
    loop.sink().On(
        ports::Change<api::Node>{nullptr, std::make_shared<const api::Node>(MakeNode("late").Cpu("8"))});
    EXPECT_THAT(request.body, HasSubstr(R"("NodeNames":["a","b"])"));
    Answer("filter", R"({"NodeNames":["late"]})");
  };
  AddPod();
  EXPECT_THAT(Events()[0], HasSubstr("claims a filtered node \"late\""));
  EXPECT_EQ(engine->cache().nodes().node_count(), 3U);
}

TEST_F(SchedulerWithExtendersTest, SuccessfulBindingStepsAreHandledDuringAWait) {
  Start({Filtering()});
  Answer("filter", R"({"NodeNames":["a"]})");
  api.hold = true;
  AddPod("first");
  EXPECT_THAT(Events(), IsEmpty()) << "its binding is on its way";
  world.answers.clear();
  std::vector<std::string> events_while_waiting;
  world.on_ask = [&](const extenders::TransportRequest&) { api.Release(); };
  bool waited = false;
  engine->extenders().SetKeepWaiting([&, polls = 0]() mutable {
    if (++polls > 1) return false;
    waited = true;
    return true;
  });
  AddPod("second");
  EXPECT_TRUE(waited);
  EXPECT_THAT(Events(), ElementsAre("Scheduled: Successfully assigned default/first to a"));
}

// --- binding ---

TEST_F(SchedulerWithExtendersTest, TheFirstInterestedExtenderReplacesTheBindPlugins) {
  Answer("bind", "{}");
  Start({Binding()});
  const api::PodPtr pod = AddPod();
  ASSERT_THAT(world.requests, SizeIs(1));
  EXPECT_THAT(world.requests[0].body, HasSubstr(R"("PodName":"p","PodNamespace":"default","PodUID":")"));
  EXPECT_THAT(Bound(), IsEmpty());
  ASSERT_THAT(Events(), SizeIs(1));
  EXPECT_THAT(Events()[0], HasSubstr("Scheduled: Successfully assigned default/p to "));
}

TEST_F(SchedulerWithExtendersTest, AFailedBindingIsRevertedAndRetried) {
  Answer("bind", R"({"Error":"no such port"})");
  Start({Binding()});
  AddPod();
  EXPECT_THAT(Events(), ElementsAre("FailedScheduling: no such port"));
  EXPECT_EQ(engine->cache().assumed_count(), 0U);
  EXPECT_EQ(scheduler->queue().sizes().backoff, 1U);
}

TEST_F(SchedulerWithExtendersTest, ThePluginsBindAfterAFailureOfAnIgnorableExtender) {
  Answer("bind", "", 500);
  Start({Binding(kUrl, true)});
  AddPod();
  EXPECT_THAT(Bound(), SizeIs(1));
}

TEST_F(SchedulerWithExtendersTest, APodWhoseBindingSucceededWithALostResponseIsNotRetried) {
  Start({Binding()});
  const api::PodPtr pod = AddPod();
  ASSERT_THAT(world.unanswered, SizeIs(1));
  api::Pod bound = *pod;
  bound.spec.node_name = "a";
  loop.sink().On(ports::Change<api::Pod>{pod, std::make_shared<const api::Pod>(bound)});
  Settle();
  world.unanswered[0](Fail(ErrorCode::kTimeout, "context deadline exceeded"));
  Settle();
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_TRUE(engine->cache().Contains(pod->metadata.uid));
  EXPECT_EQ(scheduler->queue().sizes().backoff + scheduler->queue().sizes().active, 0U);
}

TEST_F(SchedulerWithExtendersTest, AClosedFencePreventsABinding) {
  fence = std::make_unique<LeaseFence>(clock);
  fence->Renewed(clock.BootNow(), std::chrono::seconds(10));
  Start({Binding()});
  AddPod();
  ASSERT_THAT(world.requests, SizeIs(1));
  EXPECT_EQ(world.requests[0].refused(), std::nullopt);
  clock.Advance(std::chrono::seconds(11));
  EXPECT_NE(world.requests[0].refused(), std::nullopt);
}

}  // namespace
}  // namespace berth::algorithm
