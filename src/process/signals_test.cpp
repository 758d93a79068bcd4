#include "process/signals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "http/fake_loop.hpp"
#include "kubernetes/client/api_writer.hpp"
#include "kubernetes/client/fake_lease_server.hpp"
#include "kubernetes/client/informers.hpp"
#include "process/forced_end.hpp"
#include "process/leadership.hpp"
#include "process/long_running_process.hpp"
#include "scheduler/cycle/fake_scheduler_environment.hpp"

namespace berth::process {
namespace {

// Of two pending signals the one with the lower number, SIGHUP, is received first.
TEST(Signals, AHangupDoesNotEndTheProcess) {
  std::promise<void> stopped;
  Signals signals;
  ASSERT_EQ(kill(getpid(), SIGHUP), 0);
  signals.OnFirst([&] { stopped.set_value(); });
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  stopped.get_future().wait();
}

// Sends a signal to this process and waits until the thread of its Signals has received it.
void SendAndWait(int signal) {
  kill(getpid(), signal);
  sigset_t pending{};
  do {
    std::this_thread::yield();
    sigpending(&pending);
  } while (sigismember(&pending, signal) == 1);
}

// In processes of their own, because a signal without a receiver stays pending.
TEST(SignalsDeathTest, AfterDisarmTheFirstSignalHasNoEffectAndTheSecondEndsTheProcess) {
  const auto send_two = [] {
    Signals signals;
    signals.OnHangup([] { _exit(7); });
    signals.OnFirst([] { _exit(8); });
    signals.Disarm();
    SendAndWait(SIGHUP);
    SendAndWait(SIGTERM);
    kill(getpid(), SIGTERM);
    for (;;) pause();
  };
  EXPECT_EXIT(send_two(), ::testing::ExitedWithCode(1), "");
}

// Ends by itself, and receives SIGTERM while its parts are destroyed.
class ProcessThatEndsByItself final : public LongRunningProcess {
 public:
  explicit ProcessThatEndsByItself(int& stops) : stops_(stops) {}

 private:
  struct SendsSignal {
    ~SendsSignal() { SendAndWait(SIGTERM); }
  };
  Expected<void> Assemble(std::vector<std::string>&) override { return {}; }
  Expected<int> Run() override { return 3; }
  void Stop() override { ++stops_; }

  int& stops_;
  SendsSignal part_;
};

TEST(SignalsDeathTest, ASignalDuringTheDestructionOfAProcessThatEndsByItselfIsIgnored) {
  const auto run = [] {
    int stops = 0;
    const int code = *ProcessThatEndsByItself(stops).Execute({});
    _exit(stops == 0 ? code : 9);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(3), "");
}

TEST(SignalsBlocked, ThreadsThatAreStartedMeanwhileReceiveNone) {
  const auto blocks_termination = [] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, SIGTERM) == 1;
  };
  bool within = false, after = true;
  // In a thread of its own, whose signals no other test has blocked.
  std::thread([&] {
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    {
      const SignalsBlocked blocked;
      std::thread([&] { within = blocks_termination(); }).join();
    }
    std::thread([&] { after = blocks_termination(); }).join();
  }).join();
  EXPECT_TRUE(within);
  EXPECT_FALSE(after);
}

// --- leadership ---

// A replica with delayCacheUntilActive, and an API server with one node, one pod and no claims.
class LeadershipTest : public ::testing::Test {
 protected:
  LeadershipTest() {
    run.Build(config, plugins);
    cycle::SchedulerOptions options;
    options.stand_by = true;
    run.BuildScheduler(options, fence);
    client::LeaderElectionOptions election;
    election.identity = "a";
    leadership = std::make_unique<Leadership>(
        election, true,
        LeadershipParts{io, lease_api, event_api, io.clock(), metrics, fence, run.loop, *run.scheduler,
                        writer, [this](Duration limit) { ends_within = limit; }});
    client::ClusterSourceOptions watched;
    watched.streaming = false;
    watched.wanted = [](const client::Resource& resource) {
      return resource.kind == "Pod" || resource.kind == "Node" || resource.kind == "ResourceClaim";
    };
    watched.on_synced = [this] { leadership->OnSynced(); };
    source = std::make_unique<client::ClusterSource>(io, cluster_api, metrics, run.loop.sink(), watched);
    leadership->Start(*source);
    Settle();
  }
  // Answers all requests, except reads of the claims by the barrier while these are held.
  void Settle() {
    for (bool any = true; any;) {
      io.Run();
      any = leases.Serve(lease_api);
      const auto call = std::ranges::find_if(cluster_api.open, [&](const client::FakeApi::Call& one) {
        return !one.watch && !(hold_claims && IsBarrierOfClaims(one));
      });
      if (call != cluster_api.open.end()) {
        any = true;
        client::FakeApi::Call taken = std::move(*call);
        cluster_api.open.erase(call);
        taken.done(AnswerTo(taken.request.path));
      }
    }
    run.Settle();
  }
  static bool IsBarrierOfClaims(const client::FakeApi::Call& call) {
    return call.request.path.contains("/resourceclaims?") && call.request.path.contains("limit=1");
  }
  static client::Reply AnswerTo(const std::string& path) {
    const std::string plain = path.substr(0, path.find('?'));
    if (plain == "/apis/resource.k8s.io/v1")
      return R"({"kind":"APIResourceList","resources":[{"name":"resourceclaims"}]})";
    std::string items;
    if (plain == "/api/v1/pods") {
      items = R"({"metadata":{"name":"p","namespace":"default","uid":"1","resourceVersion":"1"},)"
              R"("spec":{"schedulerName":"default-scheduler","containers":[{"name":"c"}]}})";
    } else if (plain == "/api/v1/nodes") {
      items = R"({"metadata":{"name":"n","uid":"2","resourceVersion":"1"},)"
              R"("status":{"allocatable":{"cpu":"4","memory":"4Gi","pods":"110"}}})";
    } else if (plain != "/apis/resource.k8s.io/v1/resourceclaims") {
      return client::Refused(404, "NotFound");
    }
    return R"({"metadata":{"resourceVersion":"5"},"items":[)" + items + "]}";
  }

  bool hold_claims = true;
  std::optional<Duration> ends_within;
  http::FakeLoop io;
  client::FakeApi lease_api, event_api, write_api, cluster_api;
  client::FakeLeaseServer leases;
  metrics::Registry metrics;
  LeaseFence fence{io.clock()};
  client::ApiWriter writer{io, write_api, io.clock(), fence};
  const runtime::Registry plugins = assembly::InTreePlugins();
  const config::SchedulerConfig config = config::DefaultSchedulerConfig();
  cycle::SchedulerEnvironment run;
  std::unique_ptr<Leadership> leadership;
  std::unique_ptr<client::ClusterSource> source;
};

TEST_F(LeadershipTest, WithADelayedCacheNothingIsDecidedBeforeTheBarrierOfTheClaimsHasEnded) {
  ASSERT_TRUE(fence.Open()) << "it leads";
  ASSERT_TRUE(run.loop.synced());
  EXPECT_TRUE(std::ranges::any_of(cluster_api.open, IsBarrierOfClaims));
  EXPECT_TRUE(run.api.bindings.empty());
  hold_claims = false;
  Settle();
  EXPECT_EQ(run.api.bindings.size(), 1U);
}

TEST_F(LeadershipTest, TheLossOfTheLeaseLimitsTheTimeOfTheProcess) {
  EXPECT_EQ(ends_within, std::nullopt);
  leases.down = true;
  io.Advance(std::chrono::seconds(15));
  EXPECT_FALSE(fence.Open());
  EXPECT_TRUE(run.loop.stopping());
  EXPECT_EQ(ends_within, Leadership::kGrace);
}

// --- the forced end ---

TEST(ForcedEnd, TheEarliestOfSeveralEndsApplies) {
  std::promise<void> ended;
  ForcedEnd forced_end([&] { ended.set_value(); });
  forced_end.Within(std::chrono::hours(1));
  forced_end.Within({});
  forced_end.Within(std::chrono::hours(1));
  ended.get_future().wait();
}

TEST(ForcedEnd, AProcessThatEndsInTimeIsNotForced) {
  bool forced = false;
  {
    ForcedEnd([&] { forced = true; }).Within(std::chrono::hours(1));
  }
  EXPECT_FALSE(forced);
}

}  // namespace
}  // namespace berth::process
