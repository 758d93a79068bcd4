#include "kubernetes/client/leader_election.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/lease_fence.hpp"
#include "base/shifted_clock.hpp"
#include "http/fake_loop.hpp"
#include "kubernetes/client/fake_lease_server.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kPath = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler";

// One candidate with its loop, fence and metrics; all candidates share the Lease.
struct Candidate {
  Candidate(http::FakeLoop& loop, const std::string& identity, LeaderElectionOptions options = {})
      : calendar(loop.clock()), fence(calendar) {
    options.identity = identity;
    elector = std::make_unique<LeaderElector>(
        loop, api, events, calendar, registry, fence, options,
        LeaderElectionHandlers{.on_started = [this] { ++started; }, .on_stopped = [this] { ++stopped; }});
  }
  std::vector<std::string> Messages() const {
    std::vector<std::string> messages;
    for (const FakeApi::Call& call : events.open) {
      messages.emplace_back(boost::json::parse(call.request.body).at("message").as_string());
    }
    return messages;
  }
  bool Watches() const { return std::ranges::any_of(api.open, &FakeApi::Call::watch); }
  FakeApi::Call& Watch() { return *std::ranges::find_if(api.open, &FakeApi::Call::watch); }

  FakeApi api, events;
  metrics::Registry registry;
  ShiftedClock calendar;
  LeaseFence fence;
  int started = 0, stopped = 0;
  std::unique_ptr<LeaderElector> elector;
};

class Election : public testing::Test {
 protected:
  void Start(Candidate& candidate) {
    candidate.elector->Start();
    AdvanceUntilIdle();
  }
  void AdvanceUntilIdle() {
    loop_.Run();
    for (bool any = true; any;) {
      any = server_.Serve(a_.api) | server_.Serve(b_.api);
      loop_.Run();
    }
  }
  // Advances in small steps, so that requests get their responses in time.
  void Pass(Duration time) {
    for (; time > Duration::zero(); time -= 10ms) {
      loop_.Advance(10ms);
      AdvanceUntilIdle();
    }
  }
  bool Release(Candidate& candidate) {
    std::optional<bool> freed;
    candidate.elector->Release([&](bool is_free) { freed = is_free; });
    AdvanceUntilIdle();
    for (int i = 0; i < 1200 && !freed; ++i) Pass(10ms);
    return freed.value_or(false);
  }

  http::FakeLoop loop_;
  FakeLeaseServer server_;
  Candidate a_{loop_, "a"}, b_{loop_, "b"};
};

TEST_F(Election, TheFirstCandidateCreatesTheLease) {
  Start(a_);
  EXPECT_EQ(a_.started, 1);
  EXPECT_TRUE(a_.fence.Open());
  const LeaseRecord record = server_.record();
  EXPECT_EQ(record.holder, "a");
  EXPECT_EQ(record.lease_seconds, 15);
  EXPECT_EQ(record.transitions, 0);
  EXPECT_THAT(record.renewed, MatchesRegex("....-..-..T..:..:..[.]......Z"));
  EXPECT_EQ(record.acquired, record.renewed);
  // The first renewal round follows immediately, as in client-go.
  EXPECT_THAT(server_.requests, ElementsAre(AllOf(StartsWith("GET"), HasSubstr("/leases/kube-scheduler")),
                                            "POST /apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
                                            std::string("PUT ") + kPath));
  EXPECT_THAT(a_.api.sent.front(), HasSubstr("?timeout=5s"));
}

TEST_F(Election, ALeaderRenewsEveryTwoSecondsWithoutReading) {
  Start(a_);
  const LeaseRecord before = server_.record();
  server_.requests.clear();
  Pass(20s);
  EXPECT_THAT(server_.requests, AllOf(SizeIs(10), testing::Each(std::string("PUT ") + kPath)));
  EXPECT_EQ(server_.record().acquired, before.acquired);
  EXPECT_GT(server_.record().renewed, before.renewed);
  EXPECT_EQ(server_.record().transitions, 0);
  EXPECT_TRUE(a_.fence.Open());
  EXPECT_THAT(a_.registry.Expose(),
              AllOf(HasSubstr(R"(leader_election_master_status{name="kube-scheduler"} 1)"),
                    HasSubstr(R"(leader_election_slowpath_total{name="kube-scheduler"} 0)")));
}

TEST_F(Election, FieldsOfOthersInTheLeaseAreKept) {
  server_.document =
      R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"kube-scheduler",)"
      R"("labels":{"team":"x"},"new":{"field":[1]}},"spec":{"holderIdentity":"","later":7,)"
      R"("strategy":"OldestEmulationVersion","preferredHolder":"z","leaseTransitions":4}})";
  Start(a_);
  EXPECT_EQ(a_.started, 1);
  EXPECT_THAT(*server_.document, AllOf(HasSubstr(R"("labels":{"team":"x"})"),
                                       HasSubstr(R"("new":{"field":[1]})"), HasSubstr(R"("later":7)"),
                                       Not(HasSubstr("strategy")), Not(HasSubstr("preferredHolder"))));
  EXPECT_EQ(server_.record().transitions, 5) << "also without a previous holder";
}

TEST_F(Election, AStandbyTakesOverWhenTheLeaseExpires) {
  Start(a_);
  Start(b_);
  EXPECT_EQ(b_.started, 0);
  a_.elector.reset();  // as SIGKILL would
  const MonoTime since = loop_.Now();
  while (b_.started == 0 && loop_.Now() < since + 30s) Pass(10ms);
  EXPECT_GE(loop_.Now() - since, 15s) << "before that the leader may think that it still leads";
  EXPECT_LE(loop_.Now() - since, 15s + 50ms);
  EXPECT_EQ(server_.record().holder, "b");
  EXPECT_EQ(server_.record().transitions, 1);
  EXPECT_EQ(server_.record().acquired.substr(0, 16), server_.record().renewed.substr(0, 16));
  EXPECT_FALSE(a_.fence.Open()) << "closed long before";
  EXPECT_TRUE(b_.fence.Open());
}

TEST_F(Election, TheFenceOfTheOldLeaderIsClosedWhenTheNewOneStarts) {
  Start(a_);
  Start(b_);
  Pass(7s);
  // The leader loses the connection during a renewal that takes effect.
  server_.lose_answers = true;
  Pass(2s);
  a_.elector.reset();
  server_.lose_answers = false;
  b_.Watch().handlers.on_line(server_.Event());
  while (b_.started == 0) {
    Pass(10ms);
    EXPECT_FALSE(a_.fence.Open() && b_.fence.Open());
  }
}

TEST_F(Election, AnObservedRenewalExtendsTheWait) {
  Start(a_);
  Start(b_);
  Pass(10s);
  b_.Watch().handlers.on_line(server_.Event());
  a_.elector.reset();
  Pass(14s + 900ms);
  EXPECT_EQ(b_.started, 0);
  Pass(200ms);
  EXPECT_EQ(b_.started, 1);
}

TEST_F(Election, AStandbyTakesOverImmediatelyAfterARelease) {
  Start(a_);
  Start(b_);
  Pass(5s);
  EXPECT_TRUE(Release(a_));
  EXPECT_FALSE(a_.fence.Open());
  EXPECT_EQ(server_.record().holder, "");
  EXPECT_EQ(server_.record().lease_seconds, 1);
  EXPECT_EQ(server_.record().transitions, 0);
  b_.Watch().handlers.on_line(server_.Event());
  AdvanceUntilIdle();
  EXPECT_EQ(b_.started, 1);
  EXPECT_EQ(server_.record().transitions, 1);
  EXPECT_EQ(a_.stopped, 0) << "a release is not a lost lease";
}

TEST_F(Election, AReleaseIsRetriedAfterAConflict) {
  Start(a_);
  server_.conflicts = 2;
  EXPECT_TRUE(Release(a_));
  EXPECT_EQ(server_.record().holder, "");
}

TEST_F(Election, AReleaseWithoutAResponseEndsAfterTheRenewDeadline) {
  Start(a_);
  server_.down = true;
  const MonoTime since = loop_.Now();
  EXPECT_FALSE(Release(a_));
  EXPECT_GE(loop_.Now() - since, 10s);
  EXPECT_LE(loop_.Now() - since, 11s + 50ms) << "a second more for the last event";
}

TEST_F(Election, AReleaseDoesNotOverwriteAnotherHolder) {
  Start(a_);
  server_.Set({.holder = "other", .lease_seconds = 15, .renewed = "x", .transitions = 9});
  EXPECT_FALSE(Release(a_));
  EXPECT_EQ(server_.record().holder, "other");
}

TEST_F(Election, AStandbyThatStopsWritesNothing) {
  Start(a_);
  Start(b_);
  const std::string before = *server_.document;
  server_.requests.clear();
  EXPECT_FALSE(Release(b_));
  EXPECT_EQ(*server_.document, before);
  EXPECT_THAT(server_.requests, IsEmpty());
}

TEST_F(Election, AnAttemptInFlightIsReleasedAtTheEnd) {
  server_.down = true;
  a_.elector->Start();
  loop_.Run();
  server_.Set({.holder = "a", .lease_seconds = 15});  // it took effect, and the response was lost
  server_.down = false;
  a_.api.open.clear();
  EXPECT_TRUE(Release(a_));
  EXPECT_EQ(server_.record().holder, "");
}

TEST_F(Election, WithoutAWatchTheLeaseIsPolledWithJitter) {
  Start(a_);
  b_.elector->Start();
  loop_.Run();
  ASSERT_TRUE(b_.Watches());
  auto done = std::move(b_.Watch().done);
  std::erase_if(b_.api.open, [](const FakeApi::Call& call) { return call.watch; });
  done(Refused(403, "Forbidden"));
  AdvanceUntilIdle();
  server_.requests.clear();
  b_.api.sent.clear();
  Pass(60s);
  EXPECT_FALSE(b_.Watches());
  const auto polls =
      std::ranges::count_if(b_.api.sent, [](const auto& what) { return what.starts_with("GET"); });
  EXPECT_THAT(polls, AllOf(testing::Ge(60 / 4.5), testing::Le(60 / 2.0)));
  EXPECT_TRUE(Release(a_));
  Pass(4500ms);
  EXPECT_EQ(b_.started, 1);
}

TEST_F(Election, AForbiddenLeaseIsLoggedWithTheRequiredPermissions) {
  a_.elector->Start();
  loop_.Run();
  ASSERT_FALSE(a_.api.open.empty());
  testing::internal::CaptureStderr();
  a_.api.Answer(Refused(403, "Forbidden"));
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      AllOf(HasSubstr("Error retrieving lease lock"),
            HasSubstr("hint=\"a Role in namespace kube-system must allow create, get and update of leases"),
            HasSubstr("leaderElection.resourceName")));
}

TEST_F(Election, AWatchThatEndsIsReopened) {
  Start(a_);
  Start(b_);
  auto done = std::move(b_.Watch().done);
  std::erase_if(b_.api.open, [](const FakeApi::Call& call) { return call.watch; });
  done("");
  EXPECT_FALSE(b_.Watches());
  Pass(2s);
  EXPECT_TRUE(b_.Watches());
  EXPECT_THAT(b_.api.sent, Contains(HasSubstr("fieldSelector=metadata.name%3Dkube-scheduler")));
}

TEST_F(Election, ALeaderThatCannotRenewStopsAfterTheRenewDeadline) {
  Start(a_);
  Pass(1s);
  server_.down = true;
  const MonoTime since = loop_.Now();
  while (a_.stopped == 0 && loop_.Now() < since + 30s) Pass(10ms);
  // The next round begins a second later.
  EXPECT_GE(loop_.Now() - since, 10s + 900ms);
  EXPECT_LE(loop_.Now() - since, 11s + 100ms);
  EXPECT_FALSE(a_.fence.Open());
  EXPECT_EQ(a_.stopped, 1);
  EXPECT_THAT(a_.registry.Expose(), HasSubstr(R"(leader_election_master_status{name="kube-scheduler"} 0)"));
  EXPECT_THAT(a_.Messages(), ElementsAre("a became leader", "a stopped leading"));
}

TEST_F(Election, AFailedRenewalIsRetriedInTheSameRound) {
  Start(a_);
  Pass(1s);
  server_.lose_answers = true;
  Pass(5s);
  server_.lose_answers = false;
  Pass(30s);
  EXPECT_EQ(a_.stopped, 0);
  EXPECT_TRUE(a_.fence.Open());
  EXPECT_THAT(a_.registry.Expose(),
              Not(HasSubstr(R"(leader_election_slowpath_total{name="kube-scheduler"} 0)")));
}

TEST_F(Election, AConcurrentWriteIsHandledByTheSlowPath) {
  Start(a_);
  const LeaseRecord ours = server_.record();
  server_.Set(ours);  // another resourceVersion, say a label
  Pass(2s);
  EXPECT_EQ(a_.stopped, 0);
  EXPECT_EQ(server_.record().acquired, ours.acquired);
  EXPECT_THAT(a_.registry.Expose(), HasSubstr(R"(leader_election_slowpath_total{name="kube-scheduler"} 1)"));
}

TEST_F(Election, ALeaderThatObservesAnotherHolderStopsImmediately) {
  Start(a_);
  server_.Set({.holder = "other", .lease_seconds = 15, .renewed = "x", .transitions = 9});
  Pass(2s);
  EXPECT_EQ(a_.stopped, 1);
  EXPECT_EQ(server_.record().holder, "other");
  EXPECT_FALSE(a_.fence.Open());
}

TEST_F(Election, ALeaderStopsIfAnotherHolderHasComeAndGone) {
  Start(a_);
  server_.Set({.holder = "", .lease_seconds = 1, .transitions = 1});
  Pass(2s);
  EXPECT_EQ(a_.stopped, 1) << "it missed decisions of the other leader";
  EXPECT_EQ(server_.record().holder, "");
}

TEST_F(Election, ADeletedLeaseIsCreatedAgainByItsHolder) {
  Start(a_);
  server_.document.reset();
  Pass(2s);
  EXPECT_EQ(a_.stopped, 0);
  EXPECT_EQ(server_.record().holder, "a");
}

TEST_F(Election, AStandbyWaitsForTheHolderOfADeletedLease) {
  Start(a_);
  Start(b_);
  Pass(3s);
  a_.api.open.clear();
  a_.elector.reset();  // as if it were blocked: it writes until its fence closes
  b_.Watch().handlers.on_line(R"({"type":"DELETED","object":{}})");
  server_.document.reset();
  const MonoTime since = loop_.Now();
  while (b_.started == 0 && loop_.Now() < since + 30s) {
    Pass(10ms);
    ASSERT_FALSE(a_.fence.Open() && b_.fence.Open());
  }
  EXPECT_GE(loop_.Now() - since, 15s) << "a renewal just before may not have been observed";
  EXPECT_LE(loop_.Now() - since, 15s + 50ms);
  EXPECT_EQ(server_.record().holder, "b");
}

TEST_F(Election, RenewalsWithinOneSecondCountOnceForTheFence) {
  LeaderElectionOptions options{.lease_duration = 3s, .renew_deadline = 2s, .retry_period = 200ms};
  Candidate quick(loop_, "quick", options);
  FakeLeaseServer server;
  const auto settle = [&] {
    loop_.Run();
    while (server.Serve(quick.api)) loop_.Run();
  };
  quick.elector->Start();
  settle();
  for (int i = 0; i < 4; ++i) {  // the calendar second begins with the test
    loop_.Advance(200ms);
    settle();
  }
  server.down = true;
  loop_.Advance(2000ms);  // 2.8 s after the first of them, 2 s after the last
  EXPECT_TRUE(quick.fence.Open());
  loop_.Advance(51ms);  // a client-go candidate counts from the first one
  EXPECT_FALSE(quick.fence.Open());
}

// --- clocks that jump ---
TEST_F(Election, CalendarJumpsHaveNoEffect) {
  Start(a_);
  Start(b_);
  for (const Duration jump : {-1h, +3h}) {
    Pass(1s);
    a_.calendar.SetWallClock(jump);
    Pass(20s);
    EXPECT_TRUE(a_.fence.Open());
    EXPECT_EQ(a_.stopped + b_.started, 0);
  }
  b_.Watch().handlers.on_line(server_.Event());
  a_.elector.reset();
  const MonoTime since = loop_.Now();
  while (b_.started == 0 && loop_.Now() < since + 30s) Pass(10ms);
  EXPECT_GE(loop_.Now() - since, 13s) << "the last renewal is two seconds old at most";
  EXPECT_LE(loop_.Now() - since, 15s + 50ms);
}

TEST_F(Election, AfterAllMachinesWereSuspendedTheFirstToResumeLeads) {
  Start(a_);
  Start(b_);
  loop_.clock().Suspend(20s);
  EXPECT_FALSE(a_.fence.Open());
  Pass(10s);
  EXPECT_EQ(b_.started, a_.stopped);
  EXPECT_NE(a_.fence.Open(), b_.fence.Open());
}

// Two machines, one of which is suspended.
class SleepingElection : public testing::Test {
 protected:
  SleepingElection() {
    for (Candidate* candidate : {&leader_, &standby_}) {
      candidate->elector->Start();
      AdvanceUntilIdle();
    }
  }
  void AdvanceUntilIdle() {
    for (bool any = true; any;) {
      leader_loop_.Run();
      standby_loop_.Run();
      any = server_.Serve(leader_.api) | server_.Serve(standby_.api);
    }
  }
  void Pass(http::FakeLoop& loop, Duration time) {
    for (; time > Duration::zero(); time -= 10ms) {
      loop.Advance(10ms);
      AdvanceUntilIdle();
    }
  }

  http::FakeLoop leader_loop_, standby_loop_;
  FakeLeaseServer server_;
  Candidate leader_{leader_loop_, "leader"}, standby_{standby_loop_, "standby"};
};

TEST_F(SleepingElection, ALeaderSuspendedBeyondItsLeaseWritesNothingAndStops) {
  Pass(standby_loop_, 16s);
  leader_loop_.clock().Suspend(16s);
  ASSERT_EQ(standby_.started, 1);
  EXPECT_FALSE(leader_.fence.Open()) << "before anything wakes it";
  server_.requests.clear();
  Pass(leader_loop_, 2s);
  EXPECT_EQ(leader_.stopped, 1);
  EXPECT_THAT(server_.requests, ElementsAre(std::string("GET ") + kPath));
  EXPECT_EQ(server_.record().holder, "standby");
}

TEST_F(SleepingElection, ALeaderSuspendedBeyondItsLeaseDoesNotCreateItAgain) {
  server_.document.reset();
  leader_loop_.clock().Suspend(16s);
  Pass(leader_loop_, 2s);
  EXPECT_EQ(leader_.stopped, 1);
  EXPECT_FALSE(server_.document) << "a standby may have led meanwhile";
  EXPECT_FALSE(leader_.fence.Open());
}

TEST_F(SleepingElection, ALeaderSuspendedDuringACreationDoesNotCountIt) {
  server_.document.reset();
  leader_loop_.Advance(2s);
  while (!leader_.api.sent.back().starts_with("POST")) leader_.api.Answer(Refused(404, "NotFound"));
  leader_loop_.clock().Suspend(16s);
  AdvanceUntilIdle();
  EXPECT_EQ(leader_.stopped, 1);
  EXPECT_FALSE(leader_.fence.Open());
}

TEST_F(SleepingElection, ASuspendedStandbyRespectsALeaseRenewedMeanwhile) {
  Pass(leader_loop_, 60s);
  standby_loop_.clock().Suspend(60s);
  Pass(standby_loop_, 10s);
  EXPECT_EQ(standby_.started, 0);
  EXPECT_EQ(server_.record().holder, "leader");
  Pass(standby_loop_, 10s);
  EXPECT_EQ(standby_.started, 1) << "nothing was renewed since it woke up";
}

TEST_F(Election, TheEventMatchesKubeSchedulers) {
  Start(a_);
  ASSERT_THAT(a_.events.open, SizeIs(1));
  EXPECT_THAT(a_.events.sent, ElementsAre("POST /api/v1/namespaces/kube-system/events"));
  EXPECT_THAT(
      a_.events.open[0].request.body,
      MatchesRegex(
          R"(\{"kind":"Event","apiVersion":"v1","metadata":\{"name":"kube-scheduler[.][0-9a-f]+",)"
          R"("namespace":"kube-system"\},"involvedObject":\{"kind":"Lease","namespace":"kube-system",)"
          R"("name":"kube-scheduler","uid":"lease-uid","apiVersion":"coordination.k8s.io/v1",)"
          R"("resourceVersion":"1"\},"reason":"LeaderElection","message":"a became leader",)"
          R"("source":\{"component":"default-scheduler"\},"firstTimestamp":"[^".]+Z",)"
          R"("lastTimestamp":"[^".]+Z","count":1,"type":"Normal",)"
          R"("reportingComponent":"default-scheduler","reportingInstance":""\})"));
}

TEST(NewIdentity, IsTheHostNameAndARandomUuid) {
  const std::string one = NewIdentity("node-1");
  EXPECT_THAT(one,
              MatchesRegex("node-1_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_NE(one, NewIdentity("node-1"));
}

struct WrongCase {
  std::string name;
  LeaderElectionOptions options;
  std::string text;
};
class WrongElection : public testing::TestWithParam<WrongCase> {};
TEST_P(WrongElection, IsRefused) {
  const auto checked = CheckLeaderElection(GetParam().options);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, StartsWith(GetParam().text));
}
INSTANTIATE_TEST_SUITE_P(
    All, WrongElection,
    testing::Values(
        WrongCase{"Endpoints",
                  {.resource_lock = "endpoints"},
                  "couldn't create resource lock: endpoints lock is removed, migrate to leases"},
        WrongCase{"EndpointsLeases",
                  {.resource_lock = "endpointsleases"},
                  "couldn't create resource lock: endpointsleases lock is removed, migrate to leases"},
        WrongCase{"ConfigMapsLeases",
                  {.resource_lock = "configmapsleases"},
                  "couldn't create resource lock: configmapsleases lock is removed, migrated to leases"},
        WrongCase{"Unknown", {.resource_lock = "x"}, "couldn't create resource lock: Invalid lock-type x"},
        WrongCase{"LeaseTooShort",
                  {.lease_duration = 10s},
                  "couldn't create leader elector: leaseDuration must be greater than renewDeadline"},
        WrongCase{
            "RetryTooLong",
            {.retry_period = 9s},
            "couldn't create leader elector: renewDeadline must be greater than retryPeriod*JitterFactor"},
        WrongCase{"NoRetry",
                  {.retry_period = 0s},
                  "couldn't create leader elector: retryPeriod must be greater than zero"},
        WrongCase{"BelowASecond",
                  {.lease_duration = 900ms, .renew_deadline = 500ms, .retry_period = 100ms},
                  "couldn't create leader elector: leaseDuration must be at least 1s"}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(LeaderElectionOptions, TheRequestTimeoutIsHalfTheRenewDeadline) {
  EXPECT_EQ(LeaderElectionOptions{}.request_timeout(), 5s);
  EXPECT_EQ(LeaderElectionOptions{.renew_deadline = 1500ms}.request_timeout(), 1s);
}

}  // namespace
}  // namespace berth::client
