#include "kubernetes/client/event_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/fake_loop.hpp"
#include "kubernetes/client/event_body.hpp"
#include "kubernetes/client/fake_api.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class Events : public testing::Test {
 protected:
  void Make(EventSinkOptions options = {}) {
    options.hostname = "host";
    sink_.reset();
    sink_ = std::make_unique<EventSink>(loop_, api_, loop_.clock(), registry_, std::move(options));
  }
  static api::PodPtr Pod(const std::string& name) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.name = name;
    pod->metadata.ns = "ns";
    pod->metadata.uid = "u-" + name;
    pod->metadata.resource_version = "9";
    return pod;
  }
  void Emit(std::string reason, std::string note = "n", std::string version = "7") {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.name = "p";
    pod->metadata.ns = "ns";
    pod->metadata.uid = "u";
    pod->metadata.resource_version = std::move(version);
    const bool bad = reason != "Scheduled";
    sink_->Emit({.type = bad ? ports::Event::Type::kWarning : ports::Event::Type::kNormal,
                 .reason = reason,
                 .action = bad ? "Scheduling" : "Binding",
                 .note = std::move(note),
                 .controller = "default-scheduler",
                 .regarding = pod});
    loop_.Run();
  }
  std::uint64_t Dropped() { return registry_.Counter("berth_events_dropped_total", "").Value(); }

  http::FakeLoop loop_;
  FakeApi api_;
  metrics::Registry registry_;
  std::unique_ptr<EventSink> sink_;
};

TEST_F(Events, OfRoutineEventsAFractionIsSent) {
  const auto sent = [&](double ratio) {
    api_.open.clear();
    Make({.queue_capacity = 2000, .max_in_flight = 2000, .routine_ratio = ratio});
    for (int i = 0; i < 1000; ++i)
      sink_->Emit({.reason = "Scheduled",
                   .action = "Binding",
                   .note = "n",
                   .controller = "default-scheduler",
                   .regarding = Pod(std::to_string(i)),
                   .routine = true});
    loop_.Run();
    std::vector<std::string> bodies;
    for (const auto& call : api_.open)
      bodies.push_back(call.request.body.substr(call.request.body.find("regarding")));
    return bodies;
  };
  const auto left_out = [&] { return registry_.Counter("berth_events_left_out_total", "").Value(); };
  EXPECT_THAT(sent(1), SizeIs(1000));
  EXPECT_EQ(left_out(), 0U);
  EXPECT_THAT(sent(0), IsEmpty());
  EXPECT_EQ(left_out(), 1000U);
  const std::vector<std::string> some = sent(0.2);
  EXPECT_GT(some.size(), 140U);
  EXPECT_LT(some.size(), 260U);
  EXPECT_EQ(left_out(), 2000U - some.size());
  EXPECT_EQ(some, sent(0.2)) << "another scheduler sends the events of the same pods";
}

TEST_F(Events, OtherEventsAreAlwaysSent) {
  Make({.routine_ratio = 0});
  Emit("Scheduled");
  Emit("FailedScheduling");
  EXPECT_THAT(api_.open, SizeIs(2));
}

TEST_F(Events, MayHaveARelatedPod) {
  Make();
  sink_->Emit({.reason = "Preempted",
               .action = "Preempting",
               .note = "n",
               .controller = "default-scheduler",
               .regarding = Pod("victim"),
               .related = ports::ReferenceTo(*Pod("preemptor"), "v1")});
  loop_.Run();
  EXPECT_THAT(
      api_.open[0].request.body,
      HasSubstr(R"("regarding":{"kind":"Pod","namespace":"ns","name":"victim","uid":"u-victim",)"
                R"("apiVersion":"v1","resourceVersion":"9"},"related":{"kind":"Pod","namespace":"ns",)"
                R"("name":"preemptor","uid":"u-preemptor","apiVersion":"v1","resourceVersion":"9"},)"));
}

TEST_F(Events, AreCreatedInTheEventsGroup) {
  Make();
  Emit("Scheduled", "Successfully assigned ns/p to \"n1\"");
  ASSERT_THAT(api_.sent, ElementsAre("POST /apis/events.k8s.io/v1/namespaces/ns/events"));
  // The fake clock shows 20000 days and an hour: 1728003600 s, in nanoseconds and hexadecimal.
  EXPECT_EQ(
      api_.open[0].request.body,
      R"({"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"p.17fb1a1e6c98a000",)"
      R"("namespace":"ns"},"eventTime":"2024-10-04T01:00:00.000000Z","reportingController":"default-scheduler",)"
      R"("reportingInstance":"default-scheduler-host","action":"Binding","reason":"Scheduled",)"
      R"("regarding":{"kind":"Pod","namespace":"ns","name":"p","uid":"u","apiVersion":"v1",)"
      R"("resourceVersion":"7"},"note":"Successfully assigned ns/p to \"n1\"","type":"Normal"})");
}

TEST_F(Events, TheSecondOfASeriesIsAPatchAndLaterOnesAreCounted) {
  Make();
  Emit("FailedScheduling");
  api_.Answer("{}");
  Emit("FailedScheduling", "another note");
  Emit("FailedScheduling");
  Emit("FailedScheduling");
  ASSERT_THAT(api_.sent, SizeIs(2));
  EXPECT_THAT(api_.sent[1], StartsWith("PATCH /apis/events.k8s.io/v1/namespaces/ns/events/p."));
  EXPECT_EQ(api_.open[0].request.body,
            R"({"series":{"count":2,"lastObservedTime":"2024-10-04T01:00:00.000000Z"}})");
  EXPECT_EQ(api_.open[0].request.content_type, "application/strategic-merge-patch+json");
  loop_.Advance(6min);
  ASSERT_THAT(api_.sent, SizeIs(3)) << "after six minutes without a repetition the count is written";
  EXPECT_THAT(api_.open[1].request.body, StartsWith(R"({"series":{"count":4,)"));
  Emit("FailedScheduling");
  EXPECT_THAT(api_.sent.back(), StartsWith("POST")) << "and the series has ended";
}

TEST_F(Events, APatchWaitsForItsEvent) {
  Make();
  Emit("FailedScheduling");
  Emit("FailedScheduling");
  Emit("FailedScheduling");
  EXPECT_THAT(api_.sent, SizeIs(1));
  api_.Answer("{}");
  ASSERT_THAT(api_.sent, SizeIs(2));
  EXPECT_THAT(api_.open[0].request.body, StartsWith(R"({"series":{"count":3,)"));
}

TEST_F(Events, AChangedPodStartsANewSeries) {
  Make();
  Emit("FailedScheduling", "n", "7");
  Emit("FailedScheduling", "n", "8");
  EXPECT_THAT(api_.sent, ElementsAre(StartsWith("POST"), StartsWith("POST")));
}

TEST_F(Events, AnEventThatExpiredIsCreatedAgainWithItsSeries) {
  Make();
  Emit("FailedScheduling");
  Emit("FailedScheduling");
  api_.Answer("{}");
  ASSERT_THAT(api_.sent.back(), StartsWith("PATCH"));
  api_.Answer(Refused(404, "NotFound"));
  ASSERT_THAT(api_.sent.back(), StartsWith("POST"));
  EXPECT_THAT(api_.open[0].request.body, HasSubstr(R"("series":{"count":2,)"));
}

TEST_F(Events, ARejectedEventIsDropped) {
  Make();
  Emit("Scheduled");
  api_.Answer(Refused(403, "Forbidden"));
  loop_.Advance(1min);
  EXPECT_THAT(api_.sent, SizeIs(1));
  EXPECT_EQ(Dropped(), 1U);
}

TEST_F(Events, AnUndeliveredEventIsSentUpToTwelveTimes) {
  Make();
  Emit("Scheduled");
  for (int i = 0; i < 12; ++i) {
    ASSERT_THAT(api_.open, SizeIs(1)) << i;
    api_.Answer(NotReached());
    loop_.Advance(10s);
  }
  EXPECT_THAT(api_.open, IsEmpty());
  EXPECT_THAT(api_.sent, SizeIs(12));
  EXPECT_EQ(Dropped(), 1U);
}

TEST_F(Events, EventsBeyondTheCapacityAreDroppedAndCounted) {
  Make({.queue_capacity = 3, .max_in_flight = 1});
  for (int i = 0; i < 5; ++i) Emit("Scheduled");
  EXPECT_EQ(Dropped(), 2U);
  EXPECT_THAT(api_.open, SizeIs(1));
  while (!api_.open.empty()) api_.Answer("{}");
  EXPECT_THAT(api_.sent, SizeIs(3));
  Emit("Scheduled");
  EXPECT_EQ(Dropped(), 2U) << "there is room again";
}

TEST_F(Events, MoreImportantWritesGoFirst) {
  bool pressed = true;
  Make({.max_in_flight = 8, .under_pressure = [&] { return pressed; }});
  for (int i = 0; i < 4; ++i) Emit("Scheduled");
  EXPECT_THAT(api_.open, SizeIs(1));
  pressed = false;
  api_.Answer("{}");
  EXPECT_THAT(api_.open, SizeIs(3));
}

TEST_F(Events, NamesAreUniqueWithinANanosecond) {
  Make();
  Emit("Scheduled");
  Emit("Scheduled");
  EXPECT_THAT(api_.open[1].request.body, HasSubstr("\"p.17fb1a1e6c98a001\""));
}

TEST_F(Events, OfFurtherSeriesOnlyTheFirstEventIsWritten) {
  Make({.max_in_flight = 1000, .max_series = 2});
  // Each round is an attempt of every pod, as with more unschedulable pods than series.
  for (int round = 0; round < 10; ++round) {
    for (const char* uid : {"1", "2", "3", "4"}) Emit("FailedScheduling", "n", uid);
    while (!api_.open.empty()) api_.Answer("{}");
  }
  EXPECT_THAT(api_.sent, SizeIs(6)) << "four events, and patches of the counted series";
  // After the series have ended, the next event is written again.
  loop_.Advance(std::chrono::minutes(13));
  while (!api_.open.empty()) api_.Answer("{}");
  Emit("FailedScheduling", "n", "4");
  EXPECT_THAT(api_.sent.back(), StartsWith("POST"));
}

TEST_F(Events, MemoryOfUncountedSeriesIsLimited) {
  Make({.max_in_flight = 1000, .max_series = 0, .max_uncounted = 2});
  for (const char* uid : {"1", "2", "3"}) Emit("FailedScheduling", "n", uid);
  Emit("FailedScheduling", "n", "3");
  EXPECT_THAT(api_.sent, SizeIs(3));
  Emit("FailedScheduling", "n", "1");
  EXPECT_THAT(api_.sent, SizeIs(4)) << "forgotten";
}

TEST_F(Events, IsIdleWhenNothingIsQueuedOrInFlight) {
  Make({.max_in_flight = 1});
  int calls = 0;
  const auto ask = [&] {
    sink_->WhenIdle([&] { ++calls; });
    loop_.Run();
  };
  ask();
  EXPECT_EQ(calls, 1) << "immediately";
  for (int i = 0; i < 3; ++i) Emit("Scheduled");
  ask();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(calls, 1) << i;
    api_.Answer("{}");
  }
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(api_.sent, SizeIs(3));
}

TEST_F(Events, IsIdleDespiteEventsThatWaitForARetry) {
  Make();
  Emit("Scheduled");
  bool calls = false;
  sink_->WhenIdle([&] { calls = true; });
  loop_.Run();
  EXPECT_FALSE(calls);
  api_.Answer(NotReached());
  EXPECT_TRUE(calls);
}

TEST_F(Events, DestructionCallsNoCallback) {
  Make();
  Emit("FailedScheduling");
  Emit("Scheduled");
  api_.Answer(NotReached());
  sink_.reset();
  EXPECT_THAT(api_.open, IsEmpty());
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST(EventNote, IsCutBetweenCharacters) {
  EXPECT_EQ(CutNote(std::string(1024, 'x')), std::string(1024, 'x'));
  EXPECT_EQ(CutNote(std::string(1025, 'x')), std::string(1020, 'x') + " ...");
  std::string umlauts;
  for (int i = 0; i < 600; ++i) umlauts += i == 0 ? "x" : "ä";
  const std::string cut = CutNote(umlauts);
  EXPECT_EQ(cut.size(), 1023U);
  EXPECT_THAT(cut, EndsWith("ä ..."));
}

TEST(EventRecords, ALongNameBecomesAUuid) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = std::string(250, 'a');
  Random random(1);
  ports::Event event;
  event.regarding = pod;
  const auto record = MakeRecord(event, "h", WallTime{}, 1'000'000'000, random);
  EXPECT_THAT(record.name,
              testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_EQ(record.ns, "default");
}

}  // namespace
}  // namespace berth::client
