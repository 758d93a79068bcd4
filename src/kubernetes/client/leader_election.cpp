#include "kubernetes/client/leader_election.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/go_duration.hpp"
#include "base/lease_fence.hpp"
#include "base/random.hpp"
#include "http/loop.hpp"
#include "kubernetes/client/api.hpp"
#include "kubernetes/client/leader_events.hpp"
#include "kubernetes/client/lease_hold.hpp"
#include "kubernetes/client/lease_record.hpp"
#include "kubernetes/client/lease_watch.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

constexpr double kJitterFactor = 1.2;
// The time that Release waits for its last event to be written.
constexpr Duration kEventTimeout = std::chrono::seconds(1);

Duration Scaled(Duration d, double by) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(d.count()) * by));
}

const char* Plural(const std::string& lock) { return lock == "configmapsleases" ? "migrated" : "migrate"; }

}  // namespace

Duration LeaderElectionOptions::request_timeout() const {
  return std::max<Duration>(std::chrono::seconds(1), renew_deadline / 2);
}

Expected<> CheckLeaderLock(const std::string& lock) {
  for (const auto* removed : {"endpoints", "configmaps", "endpointsleases", "configmapsleases"}) {
    if (lock != removed) continue;
    return Invalid(
        fmt::format("couldn't create resource lock: {} lock is removed, {} to leases", lock, Plural(lock)));
  }
  if (lock != "leases") {
    return Invalid(fmt::format("couldn't create resource lock: Invalid lock-type {}; expected leases", lock));
  }
  return {};
}

Expected<> CheckLeaderElection(const LeaderElectionOptions& options) {
  BERTH_RETURN_IF_ERROR(CheckLeaderLock(options.resource_lock));
  const auto wrong = [](std::string_view what) {
    return Invalid(fmt::format("couldn't create leader elector: {}", what));
  };
  if (options.lease_duration <= options.renew_deadline) {
    return wrong("leaseDuration must be greater than renewDeadline");
  }
  if (options.renew_deadline <= Scaled(options.retry_period, kJitterFactor)) {
    return wrong("renewDeadline must be greater than retryPeriod*JitterFactor");
  }
  if (options.lease_duration < Duration(1)) return wrong("leaseDuration must be greater than zero");
  if (options.renew_deadline < Duration(1)) return wrong("renewDeadline must be greater than zero");
  if (options.retry_period < Duration(1)) return wrong("retryPeriod must be greater than zero");
  // A Lease stores whole seconds, and the API server requires at least one.
  if (options.lease_duration < std::chrono::seconds(1)) return wrong("leaseDuration must be at least 1s");
  return {};
}

std::string NewIdentity(const std::string& hostname) {
  std::random_device device;
  const auto draw = [&] { return (static_cast<std::uint64_t>(device()) << 32) | device(); };
  const std::uint64_t high = (draw() & ~0xf000ULL) | 0x4000ULL;
  const std::uint64_t low = (draw() & ~(3ULL << 62)) | (2ULL << 62);
  return fmt::format("{}_{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", hostname, high >> 32, high >> 16 & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffff'ffff'ffff);
}

// All on the loop's thread.
struct LeaderElector::Impl {
  enum class Phase : std::uint8_t { kIdle, kAcquiring, kLeading, kReleasing, kEnded };
  using Outcome = LeaseHold::Outcome;

  Impl(http::Loop& loop, Api& api, Api& events, const Clock& clock, metrics::Registry& registry,
       LeaseFence& fence, LeaderElectionOptions options, LeaderElectionHandlers handlers);

  http::Loop& loop;
  Api& events;
  const Clock& clock;
  LeaseFence& fence;
  const LeaderElectionOptions options;
  const LeaderElectionHandlers handlers;
  metrics::Gauge& master;
  Random random;
  LeaseHold hold;
  LeaseWatch watch;

  Phase phase = Phase::kIdle;
  http::Loop::TimerId next = http::Loop::TimerId::kNone;      // next attempt or round
  http::Loop::TimerId expiry = http::Loop::TimerId::kNone;    // expiry of another holder's lease
  http::Loop::TimerId deadline = http::Loop::TimerId::kNone;  // end of a renewal round, or of the release
  MonoTime next_poll{};                                       // next poll of the round
  bool attempting = false;
  bool attempt_again = false;  // the Lease changed during an attempt: try once more
  std::move_only_function<void(bool)> released{};
  bool free = false;  // the argument for its callback
  // Events in flight; they may outlive this object.
  std::shared_ptr<int> events_in_flight = std::make_shared<int>(0);

  // Acquiring the lease.
  void Acquire();
  void OnAcquired(Outcome outcome);
  void ArmExpiry();
  void AcquireNow();
  void OnSeen(const LeaseRecord& record);
  void Lead();
  // Renewing it.
  void StartRound();
  void Poll();
  void OnPolled(Outcome outcome);
  void Lose(std::string_view why);
  // Releasing it.
  void StartRelease();
  void EndRelease(bool is_free);
  void NotifyReleased();

  void EmitEvent(std::string_view what);
  void StopTimers();
  void Shutdown();
};

LeaderElector::Impl::Impl(http::Loop& loop, Api& api, Api& events, const Clock& clock,
                          metrics::Registry& registry, LeaseFence& fence, LeaderElectionOptions given,
                          LeaderElectionHandlers handlers)
    : loop(loop),
      events(events),
      clock(clock),
      fence(fence),
      options(std::move(given)),
      handlers(std::move(handlers)),
      master(registry.Gauge("leader_election_master_status",
                            "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 "
                            "indicates backup, 1 indicates master. 'name' is the string used to identify the "
                            "lease. Please make sure to group by name.",
                            {{"name", "kube-scheduler"}})),
      random(options.seed),
      hold(
          api, clock, fence,
          registry.Counter("leader_election_slowpath_total",
                           "[ALPHA] Total number of slow path exercised in renewing leader leases. 'name' is "
                           "the string used to identify the lease. Please make sure to group by name.",
                           {{"name", "kube-scheduler"}}),
          {.ns = options.ns,
           .name = options.name,
           .identity = options.identity,
           .lease_duration = options.lease_duration,
           .request_timeout = options.request_timeout()}),
      watch(
          loop, api, random, hold.collection(), options.name,
          {.on_lease = [this](Lease seen) { OnSeen(seen.record()); }, .on_gone = [this] { AcquireNow(); }}) {
  master.Set(0);
}

// --- the way to the lease ---
void LeaderElector::Impl::Acquire() {
  phase = Phase::kAcquiring;
  next = http::Loop::TimerId::kNone;
  attempting = true;
  attempt_again = false;
  hold.Attempt(/*leads=*/false, [this](Outcome outcome) { OnAcquired(outcome); });
}

void LeaderElector::Impl::OnAcquired(Outcome outcome) {
  attempting = false;
  if (outcome == Outcome::kOurs) return Lead();
  if (const auto log = log::V(4)) log.Info("Failed to acquire lease", {{"lock", hold.described()}});
  ArmExpiry();
  if (attempt_again) return Acquire();
  const double factor = 1 + kJitterFactor * random.Unit();
  next = loop.After(Scaled(options.retry_period, factor), [this] { Acquire(); });
}

// client-go would notice an expired lease only at its next poll.
void LeaderElector::Impl::ArmExpiry() {
  loop.Cancel(expiry);
  expiry = http::Loop::TimerId::kNone;
  const Duration left = hold.Left();
  if (hold.holder().empty() || left <= Duration::zero()) return;
  expiry = loop.After(left + std::chrono::milliseconds(1), [this] {
    expiry = http::Loop::TimerId::kNone;
    AcquireNow();
  });
}

void LeaderElector::Impl::AcquireNow() {
  if (phase != Phase::kAcquiring) return;
  if (attempting) {
    attempt_again = true;
    return;
  }
  loop.Cancel(next);
  Acquire();
}

// The watch may deliver old versions. This is harmless because an attempt begins with reading the Lease.
void LeaderElector::Impl::OnSeen(const LeaseRecord& record) {
  if (phase != Phase::kAcquiring) return;
  hold.OnLeaseRead(record);
  ArmExpiry();
  if (record.holder.empty()) AcquireNow();
}

void LeaderElector::Impl::Lead() {
  phase = Phase::kLeading;
  watch.Stop();
  StopTimers();
  EmitEvent("became leader");
  master.Set(1);
  log::Info("Successfully acquired lease", {{"lock", hold.described()}});
  handlers.on_started();
  StartRound();
}

// --- keeping it ---
void LeaderElector::Impl::StartRound() {
  deadline = loop.After(options.renew_deadline, [this] { Lose("context deadline exceeded"); });
  next_poll = loop.Now();
  Poll();
}

void LeaderElector::Impl::Poll() {
  next = http::Loop::TimerId::kNone;
  hold.Attempt(/*leads=*/true, [this](Outcome outcome) { OnPolled(outcome); });
}

void LeaderElector::Impl::OnPolled(Outcome outcome) {
  if (outcome == Outcome::kForeign) return Lose(fmt::format("the lease is held by \"{}\"", hold.holder()));
  if (outcome == Outcome::kGone) return Lose("the lease was deleted, and another replica may have held it");
  if (outcome == Outcome::kOurs) {
    if (const auto log = log::V(5)) log.Info("Successfully renewed lease", {{"lock", hold.described()}});
    loop.Cancel(deadline);
    next = loop.After(options.retry_period, [this] { StartRound(); });
    return;
  }
  const MonoTime now = loop.Now();
  next_poll = std::max(now, next_poll + options.retry_period);
  next = loop.After(next_poll - now, [this] { Poll(); });
}

void LeaderElector::Impl::Lose(std::string_view why) {
  phase = Phase::kEnded;
  fence.Close();
  hold.Cancel();
  StopTimers();
  master.Set(0);
  log::Info("Failed to renew lease", {{"lock", hold.described()}, {"err", why}});
  EmitEvent("stopped leading");
  handlers.on_stopped();
}

// --- giving it back ---
void LeaderElector::Impl::StartRelease() {
  const bool leads = phase == Phase::kLeading;
  const bool held = leads || attempting;  // a cancelled attempt may have succeeded
  if (phase != Phase::kEnded) phase = Phase::kReleasing;
  fence.Close();
  watch.Stop();
  hold.Cancel();
  StopTimers();
  if (!held) return EndRelease(false);
  master.Set(0);
  if (leads) EmitEvent("stopped leading");
  deadline = loop.After(options.renew_deadline, [this] {
    hold.Cancel();
    log::Error("Failed to release lease", {{"lock", hold.described()}, {"err", "context deadline exceeded"}});
    EndRelease(false);
  });
  hold.Release([this](bool is_free) { EndRelease(is_free); });
}

void LeaderElector::Impl::EndRelease(bool is_free) {
  phase = Phase::kEnded;
  StopTimers();
  free = is_free;
  if (*events_in_flight == 0) return NotifyReleased();
  deadline = loop.After(kEventTimeout, [this] { NotifyReleased(); });
}

void LeaderElector::Impl::NotifyReleased() {
  StopTimers();
  if (auto done = std::exchange(released, nullptr)) done(free);
}

void LeaderElector::Impl::EmitEvent(std::string_view what) {
  if (!hold.lease()) return;
  ++*events_in_flight;
  SendLeaderEvent(events,
                  MakeLeaderEvent(*hold.lease(), options.ns, options.name, options.component,
                                  fmt::format("{} {}", options.identity, what), clock.WallNow()),
                  [this, events_in_flight = std::weak_ptr(events_in_flight)] {
                    const auto alive = events_in_flight.lock();
                    if (alive && --*alive == 0 && phase == Phase::kEnded) NotifyReleased();
                  });
}

void LeaderElector::Impl::StopTimers() {
  for (http::Loop::TimerId* timer : {&next, &expiry, &deadline}) {
    loop.Cancel(*timer);
    *timer = http::Loop::TimerId::kNone;
  }
}

void LeaderElector::Impl::Shutdown() {
  hold.Cancel();
  watch.Stop();
  StopTimers();
}

LeaderElector::LeaderElector(http::Loop& loop, Api& api, Api& events, const Clock& clock,
                             metrics::Registry& registry, LeaseFence& fence, LeaderElectionOptions options,
                             LeaderElectionHandlers handlers)
    : impl_(std::make_unique<Impl>(loop, api, events, clock, registry, fence, std::move(options),
                                   std::move(handlers))) {}

LeaderElector::~LeaderElector() {
  impl_->loop.Sync([this] { impl_->Shutdown(); });
}

void LeaderElector::Start() {
  impl_->loop.Post([impl = impl_.get()] {
    if (impl->phase != Impl::Phase::kIdle) return;  // released before it began
    log::Info("Attempting to acquire leader lease...", {{"lock", impl->hold.described()}});
    impl->Acquire();
    impl->watch.Start();
  });
}

void LeaderElector::Release(std::move_only_function<void(bool)> done) {
  impl_->loop.Post([impl = impl_.get(), done = std::move(done)]() mutable {
    impl->released = std::move(done);
    impl->StartRelease();
  });
}

}  // namespace berth::client
