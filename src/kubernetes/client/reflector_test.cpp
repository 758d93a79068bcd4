#include "kubernetes/client/reflector.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "http/fake_loop.hpp"
#include "kubernetes/client/fake_api.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Lt;
using testing::Not;

std::string NodeJson(std::string_view name, int version, std::string_view uid = "u") {
  return fmt::format(
      R"({{"kind":"Node","apiVersion":"v1","metadata":{{"name":"{}","uid":"{}","resourceVersion":"{}"}}}})",
      name, uid, version);
}
std::string Added(std::string_view name, int version, std::string_view uid = "u") {
  return R"({"type":"ADDED","object":)" + NodeJson(name, version, uid) + "}";
}
std::string Modified(std::string_view name, int version, std::string_view uid = "u") {
  return R"({"type":"MODIFIED","object":)" + NodeJson(name, version, uid) + "}";
}
std::string Deleted(std::string_view name, int version) {
  return R"({"type":"DELETED","object":)" + NodeJson(name, version) + "}";
}
std::string Bookmark(int version, bool initial_end = false) {
  return fmt::format(
      R"({{"type":"BOOKMARK","object":{{"kind":"Node","apiVersion":"v1","metadata":{{"resourceVersion":"{}"{}}}}}}})",
      version, initial_end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "");
}
std::string ErrorEvent(int code, std::string_view reason, std::string_view details = "{}") {
  return fmt::format(
      R"({{"type":"ERROR","object":{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure",)"
      R"("message":"m","reason":"{}","details":{},"code":{}}}}})",
      reason, details, code);
}
std::string ListJson(int version, const std::vector<std::string>& items, std::string_view token = "") {
  return fmt::format(
      R"({{"kind":"NodeList","apiVersion":"v1","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
      version, token, fmt::join(items, ","));
}

class ReflectorTest : public testing::Test {
 protected:
  void Begin(bool streaming, bool awaited = false) {
    reflector_ = std::make_unique<Reflector<api::Node>>(
        loop_, api_, decoder_, registry_, random_,
        ReflectorOptions{
            .resource = "nodes", .path = "/api/v1/nodes", .streaming = streaming, .awaited = awaited},
        ReflectorHandlers<api::Node>{.on_change = [this](ports::Change<api::Node> c) { Note(c); },
                                     .on_synced = [this] { seen_.push_back("synced"); }});
    reflector_->Start();
  }
  void BeginListed(int version, const std::vector<std::string>& items) {
    Begin(false);
    api_.Answer(ListJson(version, items));
    seen_.clear();
  }
  void Note(const ports::Change<api::Node>& c) {
    const auto version = [](const api::Node& node) {
      return node.metadata.name + "@" + node.metadata.resource_version;
    };
    seen_.push_back(!c.before  ? "+" + version(*c.after)
                    : !c.after ? "-" + version(*c.before)
                               : version(*c.before) + ">" + version(*c.after));
  }
  std::vector<std::string> Seen() { return std::exchange(seen_, {}); }
  std::string LastRequest() const { return api_.sent.back(); }

  http::FakeLoop loop_;
  FakeApi api_;
  api::Decoder decoder_;
  metrics::Registry registry_;
  Random random_{1};
  std::vector<std::string> seen_;
  std::unique_ptr<Reflector<api::Node>> reflector_;
};

TEST_F(ReflectorTest, AStreamedListIsDeliveredAtItsBookmarkAndContinuesAsAWatch) {
  Begin(true);
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH /api/v1/nodes?allowWatchBookmarks=true"),
                                   HasSubstr("resourceVersionMatch=NotOlderThan&sendInitialEvents=true"),
                                   HasSubstr("watch=true"), Not(HasSubstr("resourceVersion="))));
  api_.Line(Added("a", 5));
  api_.Line(Added("b", 3));
  EXPECT_THAT(Seen(), IsEmpty());
  api_.Line(Bookmark(7, true));
  EXPECT_THAT(Seen(), ElementsAre("+a@5", "+b@3", "synced"));
  api_.Line(Modified("a", 8));
  api_.Line(Deleted("b", 9));
  EXPECT_THAT(Seen(), ElementsAre("a@5>a@8", "-b@3"));
  api_.End();
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("resourceVersion=9"), Not(HasSubstr("sendInitialEvents"))));
  EXPECT_THAT(loop_.delays(), IsEmpty()) << "a proper end is reopened at once";
}

TEST_F(ReflectorTest, ChangesWithinAStreamedListAreTakenIntoAccount) {
  Begin(true);
  api_.Line(Added("a", 1));
  api_.Line(Added("b", 2));
  api_.Line(Modified("a", 3));
  api_.Line(Deleted("b", 4));
  api_.Line(Bookmark(4, true));
  EXPECT_THAT(Seen(), ElementsAre("+a@3", "synced"));
}

TEST_F(ReflectorTest, AnInterruptedStreamedListIsDiscarded) {
  Begin(true);
  api_.Line(Added("a", 1));
  api_.End(AnswerLost());
  api_.Line(Added("b", 2));
  api_.Line(Bookmark(4, true));
  EXPECT_THAT(Seen(), ElementsAre("+b@2", "synced"));
}

TEST_F(ReflectorTest, AnAwaitedLongListIsDeliveredInPiecesAndCorrectedAfterAnInterruption) {
  constexpr int kMany = 3000;
  const auto name = [](int i) { return fmt::format("n{:04}", i); };
  Begin(true, /*awaited=*/true);
  for (int i = 0; i < kMany; ++i) api_.Line(Added(name(i), 1 + i));
  const std::vector<std::string> early = Seen();
  EXPECT_THAT(early.size(), AllOf(Ge(1000U), Lt(3000U)));
  EXPECT_EQ(early.front(), "+n0000@1");
  api_.Line(Deleted(name(0), 4000));
  api_.Line(Modified(name(1), 4001));
  EXPECT_THAT(Seen(), ElementsAre("-n0000@1"));
  api_.End(AnswerLost());

  for (int i = 0; i < kMany; ++i) {
    if (i == 0 || i == 2) continue;
    api_.Line(Added(name(i), i == 1 ? 4001 : 1 + i));
  }
  EXPECT_THAT(Seen(), IsEmpty()) << "what is gone shows only when everything is there";
  api_.Line(Bookmark(5000, true));
  const std::vector<std::string> late = Seen();
  ASSERT_EQ(late.size(), 1 + (kMany - early.size()) + 1 + 1);
  EXPECT_EQ(late.front(), "n0001@2>n0001@4001");
  EXPECT_THAT(std::vector(late.end() - 2, late.end()), ElementsAre("-n0002@3", "synced"));
}

TEST_F(ReflectorTest, ALongListThatIsNotAwaitedIsDeliveredWhenComplete) {
  Begin(true, /*awaited=*/false);
  for (int i = 0; i < 3000; ++i) api_.Line(Added(fmt::format("n{:04}", i), 1 + i));
  EXPECT_THAT(Seen(), IsEmpty());
  api_.Line(Bookmark(5000, true));
  EXPECT_EQ(Seen().size(), 3001U);
}

TEST_F(ReflectorTest, AServerWithoutStreamedListsIsListed) {
  Begin(true);
  api_.End(Refused(422, "Invalid"));
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?limit=500&resourceVersion=0");
  api_.Answer(ListJson(10, {NodeJson("a", 1)}));
  EXPECT_THAT(Seen(), ElementsAre("+a@1", "synced"));
  EXPECT_THAT(LastRequest(),
              AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=10"), HasSubstr("timeoutSeconds=")));
  EXPECT_THAT(loop_.delays(), IsEmpty());
}

TEST_F(ReflectorTest, AVeryShortStreamedListFallsBackToAList) {
  Begin(true);
  api_.End();
  EXPECT_THAT(LastRequest(), HasSubstr("GET "));
}

TEST_F(ReflectorTest, PagesAreCollectedBeforeAnythingIsDelivered) {
  Begin(false);
  api_.Answer(ListJson(10, {NodeJson("a", 1)}, "t1"));
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?continue=t1&limit=500");
  EXPECT_THAT(Seen(), IsEmpty());
  api_.Answer(ListJson(10, {NodeJson("b", 2)}));
  EXPECT_THAT(Seen(), ElementsAre("+a@1", "+b@2", "synced"));
  EXPECT_THAT(LastRequest(), HasSubstr("resourceVersion=10"));
}

TEST_F(ReflectorTest, PagingContinuesIfTheFirstListCameInPages) {
  Begin(false);
  api_.Answer(ListJson(10, {NodeJson("a", 1)}, "t1"));
  api_.Answer(ListJson(10, {}));
  api_.Line(ErrorEvent(410, "Expired"));
  loop_.Advance(2s);
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?limit=500&resourceVersion=10");
}

TEST_F(ReflectorTest, ExpiredPagesAreReplacedByOneFullList) {
  Begin(false);
  api_.Answer(ListJson(10, {NodeJson("a", 1)}, "t1"));
  api_.Answer(Refused(410, "Expired"));
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?resourceVersion=0");
  api_.Answer(ListJson(12, {NodeJson("b", 2)}));
  EXPECT_THAT(Seen(), ElementsAre("+b@2", "synced")) << "pages of the abandoned list do not count";
}

struct GoneCase {
  std::string name;
  std::string event;  // empty: rejected when the watch is opened
  Reply refusal;
};
class ReflectorGone : public ReflectorTest, public testing::WithParamInterface<GoneCase> {};
TEST_P(ReflectorGone, ListsAtTheLastVersionAndThenAtAnyVersion) {
  BeginListed(10, {NodeJson("a", 1)});
  if (GetParam().event.empty()) {
    api_.End(GetParam().refusal);
  } else {
    api_.Line(Bookmark(20));
    api_.Line(GetParam().event);
  }
  const std::string last = GetParam().event.empty() ? "10" : "20";
  ASSERT_EQ(loop_.timers(), 1U);
  EXPECT_THAT(loop_.delays().back(), AllOf(Ge(800ms), Lt(1600ms)));
  loop_.Advance(2s);
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?resourceVersion=" + last)
      << "no limit: the server's cache can answer";
  api_.Answer(Refused(410, "Expired"));
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes") << "at once, and without a version";
  api_.Answer(ListJson(30, {NodeJson("a", 25)}));
  EXPECT_THAT(Seen(), ElementsAre("a@1>a@25"));
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=30")));
}
INSTANTIATE_TEST_SUITE_P(Forms, ReflectorGone,
                         testing::Values(GoneCase{"AnEventWithReasonExpired", ErrorEvent(410, "Expired"), ""},
                                         GoneCase{"AnEventWithReasonGone", ErrorEvent(410, "Gone"), ""},
                                         GoneCase{"AnEventWithTheCodeAlone", ErrorEvent(410, ""), ""},
                                         GoneCase{"APlainAnswer", "", Refused(410, "Expired")}),
                         [](const auto& row) { return row.param.name; });

TEST_F(ReflectorTest, AVersionFromTheFutureIsListedWithoutAVersion) {
  BeginListed(10, {});
  api_.Line(ErrorEvent(410, "Expired"));
  loop_.Advance(2s);
  api_.Answer(Refused(504, "Timeout", {"ResourceVersionTooLarge"}));
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes");
}

TEST_F(ReflectorTest, AStreamedListAtAVersionFromTheFutureIsRepeatedWithoutAVersion) {
  Begin(true);
  api_.Line(Bookmark(50, true));
  api_.Line(ErrorEvent(410, "Expired"));
  loop_.Advance(2s);
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("resourceVersion=50"), HasSubstr("sendInitialEvents=true")));
  api_.Line(ErrorEvent(504, "Timeout", R"({"causes":[{"reason":"ResourceVersionTooLarge"}]})"));
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("sendInitialEvents=true"), Not(HasSubstr("resourceVersion="))));
}

TEST_F(ReflectorTest, AServerThatRejectsEveryStreamedListAsGoneIsListedAfterADelay) {
  Begin(true);
  api_.End(Refused(410, "Gone"));
  EXPECT_THAT(LastRequest(), HasSubstr("sendInitialEvents=true"));
  EXPECT_THAT(loop_.delays(), IsEmpty()) << "only the version may be gone";
  api_.End(Refused(410, "Gone"));
  EXPECT_THAT(api_.open, IsEmpty());
  EXPECT_THAT(loop_.delays().back(), AllOf(Ge(800ms), Lt(1600ms)));
  loop_.Advance(1600ms);
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?limit=500");
  api_.Answer(Refused(503, "ServiceUnavailable"));
  EXPECT_THAT(loop_.delays().back(), AllOf(Ge(1600ms), Lt(3200ms)));
  loop_.Advance(3200ms);
  EXPECT_THAT(LastRequest(), HasSubstr("sendInitialEvents=true"));
  api_.End(Refused(410, "Gone"));
  EXPECT_THAT(loop_.delays().back(), AllOf(Ge(3200ms), Lt(6400ms)));
  loop_.Advance(6400ms);
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?limit=500");
  api_.Answer(ListJson(10, {NodeJson("a", 1)}));
  EXPECT_THAT(Seen(), ElementsAre("+a@1", "synced"));
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=10")));
}

TEST_F(ReflectorTest, AStreamedListThatBreaksTwiceIsListedAfterADelay) {
  Begin(true);
  api_.Line(Added("a", 1));
  api_.End(AnswerLost());
  EXPECT_THAT(LastRequest(), HasSubstr("sendInitialEvents=true"));
  EXPECT_THAT(loop_.delays(), IsEmpty());
  api_.Line(Added("a", 1));
  api_.End(AnswerLost());
  EXPECT_THAT(api_.open, IsEmpty());
  EXPECT_THAT(loop_.delays().back(), AllOf(Ge(800ms), Lt(1600ms)));
  loop_.Advance(1600ms);
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?limit=500&resourceVersion=0");
  api_.Answer(ListJson(10, {NodeJson("a", 1), NodeJson("b", 2)}));
  EXPECT_THAT(Seen(), ElementsAre("+a@1", "+b@2", "synced"));
}

struct ResumeCase {
  std::string name;
  Reply refusal;
};
class ReflectorResumes : public ReflectorTest, public testing::WithParamInterface<ResumeCase> {};
TEST_P(ReflectorResumes, TheSameWatchAfterADelay) {
  BeginListed(10, {});
  api_.End(GetParam().refusal);
  EXPECT_THAT(loop_.delays(), testing::SizeIs(1));
  loop_.Advance(2s);
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=10")));
}
INSTANTIATE_TEST_SUITE_P(Forms, ReflectorResumes,
                         testing::Values(ResumeCase{"WhenThrottled", Refused(429, "TooManyRequests")},
                                         ResumeCase{"WhenTheServerIsNotThere", NotReached()}),
                         [](const auto& row) { return row.param.name; });

TEST_F(ReflectorTest, AThrottledStreamIsResumedToo) {
  BeginListed(10, {});
  api_.Line(Bookmark(11));
  api_.Line(ErrorEvent(429, "TooManyRequests"));
  loop_.Advance(2s);
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=11")));
}

TEST_F(ReflectorTest, AVeryShortWatchCountsAsAFailure) {
  BeginListed(10, {});
  api_.End();
  EXPECT_THAT(loop_.delays(), testing::SizeIs(1));
  loop_.Advance(2s);
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?resourceVersion=10");
}

TEST_F(ReflectorTest, AShortWatchWithEventsIsNotAFailure) {
  BeginListed(10, {});
  api_.Line(Bookmark(11));
  api_.End();
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=11")));
}

TEST_F(ReflectorTest, ALongWatchWithoutEventsIsNotAFailure) {
  BeginListed(10, {});
  api_.Open();
  loop_.Advance(1s);
  api_.End(AnswerLost());
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=10")));
}

class ReflectorSilence : public ReflectorTest {
 protected:
  static constexpr const char* kReadVersion = "GET /api/v1/nodes?limit=1";
  // The watch receives nothing until its idle timeout.
  void StaySilent() {
    loop_.Advance(90s);
    api_.End(std::unexpected(RequestError{.code = ErrorCode::kTimeout, .message = "no data"}));
  }
};

TEST_F(ReflectorSilence, AServerWhoseVersionFellIsListedAgain) {
  BeginListed(100, {NodeJson("a", 50), NodeJson("b", 60)});
  StaySilent();
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=100")));
  StaySilent();
  EXPECT_EQ(LastRequest(), kReadVersion);
  api_.Answer(ListJson(90, {NodeJson("a", 40)}));
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?limit=500");
  api_.Answer(ListJson(90, {NodeJson("a", 40), NodeJson("c", 80)}));
  EXPECT_THAT(Seen(), ElementsAre("a@50>a@40", "+c@80", "-b@60"));
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=90")));
  api_.Line(Modified("a", 91));
  EXPECT_THAT(Seen(), ElementsAre("a@40>a@91"));
  EXPECT_THAT(loop_.delays(), IsEmpty());
}

TEST_F(ReflectorSilence, AStreamedListIsRepeatedWithoutAVersion) {
  Begin(true);
  api_.Line(Bookmark(100, true));
  StaySilent();
  StaySilent();
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("resourceVersion=100"), Not(HasSubstr("sendInitialEvents"))))
      << "the first stream had an event";
  StaySilent();
  EXPECT_EQ(LastRequest(), kReadVersion);
  api_.Answer(ListJson(90, {}));
  EXPECT_THAT(LastRequest(), AllOf(Not(HasSubstr("resourceVersion=")), HasSubstr("sendInitialEvents=true")));
}

TEST_F(ReflectorSilence, AQuietServerIsWatchedOn) {
  BeginListed(100, {NodeJson("a", 50)});
  for (int i = 0; i < 2; ++i) {
    StaySilent();
    StaySilent();
    EXPECT_EQ(LastRequest(), kReadVersion);
    api_.Answer(ListJson(100 + i, {NodeJson("a", 50)}));
    EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=100")));
  }
  EXPECT_THAT(Seen(), IsEmpty());
}

TEST_F(ReflectorSilence, AFailedReadOfTheVersionIsRepeatedAfterTheNextSilence) {
  BeginListed(100, {});
  StaySilent();
  StaySilent();
  api_.Answer(Refused(503, "ServiceUnavailable"));
  EXPECT_THAT(loop_.delays().back(), AllOf(Ge(800ms), Lt(1600ms)));
  loop_.Advance(1600ms);
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=100")));
  StaySilent();
  EXPECT_EQ(LastRequest(), kReadVersion);
}

TEST_F(ReflectorSilence, ABookmarkEndsTheSilence) {
  BeginListed(100, {});
  StaySilent();
  api_.Line(Bookmark(101));
  StaySilent();
  StaySilent();
  EXPECT_THAT(LastRequest(), AllOf(HasSubstr("WATCH"), HasSubstr("resourceVersion=101")));
}

TEST_F(ReflectorTest, ARelistDeliversOnlyTheDifferences) {
  BeginListed(10, {NodeJson("a", 1), NodeJson("b", 2), NodeJson("c", 3)});
  api_.Line(ErrorEvent(410, "Expired"));
  loop_.Advance(2s);
  api_.Answer(ListJson(20, {NodeJson("b", 2), NodeJson("c", 15), NodeJson("d", 16)}));
  EXPECT_THAT(Seen(), ElementsAre("c@3>c@15", "+d@16", "-a@1"));
}

TEST_F(ReflectorTest, ARecreatedObjectIsADeletionAndAnAddition) {
  BeginListed(10, {NodeJson("a", 1, "old")});
  api_.Line(Modified("a", 11, "new"));
  EXPECT_THAT(Seen(), ElementsAre("-a@1", "+a@11"));
}

TEST_F(ReflectorTest, AKnownVersionIsNoChange) {
  BeginListed(10, {NodeJson("a", 10)});
  api_.Line(Modified("a", 10));
  api_.Line(Added("a", 10));
  EXPECT_THAT(Seen(), IsEmpty());
}

TEST_F(ReflectorTest, AnOlderVersionEndsTheWatchAndLists) {
  BeginListed(10, {NodeJson("a", 9)});
  api_.Line(Modified("a", 100));
  EXPECT_THAT(Seen(), ElementsAre("a@9>a@100"));
  api_.Line(Modified("a", 99));
  EXPECT_THAT(Seen(), IsEmpty()) << "the stored version is newer";
  loop_.Advance(2s);
  EXPECT_THAT(LastRequest(), HasSubstr("resourceVersion=100"));
  EXPECT_EQ(
      registry_.Counter("berth_reflector_failures_total", "", {{"resource", "nodes"}, {"reason", "disorder"}})
          .Value(),
      1U);
}

TEST_F(ReflectorTest, AddedIsAnUpdateOfAKnownObjectAndModifiedAnAdditionOfAnUnknownOne) {
  BeginListed(10, {NodeJson("a", 1)});
  api_.Line(Added("a", 11));
  api_.Line(Modified("b", 12));
  api_.Line(Deleted("unknown", 13));
  EXPECT_THAT(Seen(), ElementsAre("a@1>a@11", "+b@12"));
}

TEST_F(ReflectorTest, AnObjectThatCannotBeDecodedIsSkippedCountedAndKeptInItsLastVersion) {
  const std::string bad =
      R"({"metadata":{"name":"a","uid":"u","resourceVersion":"11"},"spec":{"taints":17}})";
  BeginListed(10, {NodeJson("a", 1)});
  api_.Line(R"({"type":"MODIFIED","object":)" + bad + "}");
  EXPECT_THAT(Seen(), IsEmpty());
  api_.Line(ErrorEvent(410, "Expired"));
  loop_.Advance(2s);
  EXPECT_THAT(LastRequest(), HasSubstr("resourceVersion=11")) << "it was progress all the same";
  api_.Answer(ListJson(20, {bad, NodeJson("b", 12)}));
  EXPECT_THAT(Seen(), ElementsAre("+b@12")) << "a is not taken for deleted";
  EXPECT_EQ(registry_.Counter("berth_objects_skipped_total", "", {{"resource", "nodes"}}).Value(), 2U);
  api_.Line(R"({"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"21"},"spec":17}})");
  EXPECT_THAT(Seen(), ElementsAre("-a@1"));
}

TEST_F(ReflectorTest, TheFreshnessProofDoesNotWaitForAnObjectThatCannotBeDecodedUntilItIsRepaired) {
  const auto answer_newest = [&](std::string list) {
    FakeApi::Call call = std::move(api_.open.back());
    api_.open.pop_back();
    call.done(std::move(list));
  };
  int proofs = 0;
  const auto prove = [&](int quorum_version, int version_of_a) {
    reflector_->ProveFresh([&](std::string_view) { ++proofs; });
    answer_newest(ListJson(quorum_version, {}));
    loop_.Advance(20ms);
    answer_newest(ListJson(quorum_version, {NodeJson("a", version_of_a)}));
  };
  BeginListed(10, {NodeJson("a", 1)});
  api_.Line(R"({"type":"MODIFIED","object":{"metadata":{"name":"a","uid":"u","resourceVersion":"11"},)"
            R"("spec":{"taints":17}}})");
  prove(20, 11);
  EXPECT_EQ(proofs, 1);
  api_.Line(Modified("a", 21));
  prove(30, 29);
  EXPECT_EQ(proofs, 1) << "the watch is behind";
}

TEST_F(ReflectorTest, AMalformedFrameEndsTheWatchAndLists) {
  BeginListed(10, {NodeJson("a", 1)});
  api_.Line("{\"type\":\"ADDED\",\"obj");
  loop_.Advance(2s);
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?resourceVersion=10");
}

TEST_F(ReflectorTest, AMalformedListIsRequestedAgain) {
  Begin(false);
  api_.Answer("<html>");
  loop_.Advance(2s);
  EXPECT_EQ(LastRequest(), "GET /api/v1/nodes?limit=500&resourceVersion=0");
}

TEST_F(ReflectorTest, DelaysGrowToACapAndAreResetAfterTwoQuietMinutes) {
  Begin(false);
  for (const auto& [low, high] : std::vector<std::pair<Duration, Duration>>{{800ms, 1600ms},
                                                                            {1600ms, 3200ms},
                                                                            {3200ms, 6400ms},
                                                                            {6400ms, 12800ms},
                                                                            {12800ms, 25600ms},
                                                                            {25600ms, 51200ms},
                                                                            {30s, 60s},
                                                                            {30s, 60s}}) {
    api_.Answer(Refused(500, "InternalError"));
    EXPECT_THAT(loop_.delays().back(), AllOf(Ge(low), Lt(high)));
    loop_.Advance(60s);
  }
  loop_.Advance(121s);
  api_.Answer(Refused(500, "InternalError"));
  EXPECT_THAT(loop_.delays().back(), Lt(1600ms));
}

TEST_F(ReflectorTest, TheFirstAnswerAfterAnOutageRestartsTheDelays) {
  BeginListed(10, {});
  const auto delay_after = [this](Reply reply) {
    api_.End(std::move(reply));
    const Duration delay = loop_.delays().back();
    loop_.Advance(60s);
    return delay;
  };
  for (int i = 0; i < 4; ++i) delay_after(NotReached());
  EXPECT_THAT(delay_after(NotReached()), Ge(12800ms)) << "they grow while the API server is unreachable";
  EXPECT_THAT(delay_after(Refused(410, "Expired")), AllOf(Ge(800ms), Lt(1600ms)));
  for (const auto& [low, high] : {std::pair(1600ms, 3200ms), std::pair(3200ms, 6400ms)}) {
    api_.Answer(Refused(403, "Forbidden"));
    EXPECT_THAT(loop_.delays().back(), AllOf(Ge(low), Lt(high))) << "and while it answers with errors";
    loop_.Advance(60s);
  }
}

TEST_F(ReflectorTest, AMissingPermissionIsLoggedOnceUntilItIsGranted) {
  const auto refusals = [this](int times) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < times; ++i) {
      api_.Answer(Refused(403, "Forbidden"));
      loop_.Advance(60s);
    }
    const std::string output = testing::internal::GetCapturedStderr();
    std::size_t lines = 0;
    for (auto at = output.find("Failed to list"); at != output.npos;
         at = output.find("Failed to list", at + 1))
      ++lines;
    return lines;
  };
  Begin(false);
  EXPECT_EQ(refusals(3), 1U);
  EXPECT_EQ(refusals(3), 0U);
  api_.Answer(ListJson(10, {}));
  api_.End(NotReached());
  loop_.Advance(60s);
  api_.End(Refused(410, "Gone"));
  loop_.Advance(60s);
  EXPECT_EQ(refusals(2), 1U) << "it was there for a while";
}

TEST_F(ReflectorTest, CallsNothingAfterDestruction) {
  BeginListed(10, {});
  api_.End(NotReached());
  reflector_.reset();
  EXPECT_EQ(loop_.timers(), 0U);
  EXPECT_THAT(api_.open, IsEmpty());
}

}  // namespace
}  // namespace berth::client
