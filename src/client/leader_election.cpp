#include "client/leader_election.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>

#include "base/go_duration.hpp"
#include "base/lease_fence.hpp"
#include "base/random.hpp"
#include "client/api.hpp"
#include "client/leader_events.hpp"
#include "client/lease_record.hpp"
#include "client/lease_watch.hpp"
#include "http/loop.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"

namespace berth::client {
namespace {

constexpr double kJitterFactor = 1.2;
// The end of a candidacy waits so long for its last event to be written.
constexpr Duration kEventPatience = std::chrono::seconds(1);

Duration Scaled(Duration d, double by) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(d.count()) * by));
}

// As a candidate of client-go sees a record: it compares them as JSON in which times have whole seconds.
LeaseRecord Cut(LeaseRecord record) {
  for (std::string* time : {&record.acquired, &record.renewed}) {
    if (const auto dot = time->find('.'); dot != time->npos) time->resize(dot);
  }
  return record;
}

const char* Plural(const std::string& lock) { return lock == "configmapsleases" ? "migrated" : "migrate"; }

}  // namespace

Duration LeaderElectionOptions::request_timeout() const {
  return std::max<Duration>(std::chrono::seconds(1), renew_deadline / 2);
}

Expected<> CheckLeaderElection(const LeaderElectionOptions& options) {
  const std::string& lock = options.resource_lock;
  for (const auto* removed : {"endpoints", "configmaps", "endpointsleases", "configmapsleases"}) {
    if (lock != removed) continue;
    return Invalid(
        fmt::format("couldn't create resource lock: {} lock is removed, {} to leases", lock, Plural(lock)));
  }
  if (lock != "leases") {
    return Invalid(fmt::format("couldn't create resource lock: Invalid lock-type {}; expected leases", lock));
  }
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
  // A Lease holds whole seconds, and the API server wants one at least.
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
  // What came of an attempt to get or keep the lease. kForeign: it is somebody else's.
  enum class Outcome : std::uint8_t { kOurs, kFailed, kForeign };
  using Attempted = std::move_only_function<void(Outcome)>;

  Impl(http::Loop& loop, Api& api, Api& events, const Clock& clock, metrics::Registry& registry,
       LeaseFence& fence, LeaderElectionOptions options, LeaderElectionHandlers handlers);

  http::Loop& loop;
  Api& api;
  Api& events;
  const Clock& clock;
  LeaseFence& fence;
  const LeaderElectionOptions options;
  const LeaderElectionHandlers handlers;
  const std::string described;  // for log lines
  const std::string collection, path;
  metrics::Gauge& master;
  metrics::Counter& slow_path;
  Random random;
  LeaseWatch watch;

  Phase phase = Phase::kIdle;
  std::optional<Lease> lease{};  // as the API server gave it last
  // The record that counts, and since when: seen in the Lease, or written by us.
  LeaseRecord observed{};
  LeaseRecord observed_cut{};  // the last one that was read
  BootTime observed_at{};
  // The first attempt to write a record that looks like this one to others: see LeaseFence.
  LeaseRecord written_cut{};
  BootTime written_at{};
  Api::CallId call = 0;
  http::Loop::TimerId next = http::Loop::TimerId::kNone;      // attempt or round
  http::Loop::TimerId expiry = http::Loop::TimerId::kNone;    // of somebody else's lease
  http::Loop::TimerId deadline = http::Loop::TimerId::kNone;  // of a round of renewal, or of the release
  MonoTime next_poll{};                                       // of the round
  bool attempting = false;
  bool hurry = false;  // something happened while an attempt was under way: try once more
  std::move_only_function<void(bool)> released{};
  bool free = false;  // what it will be told
  // Events on their way; they may outlive us.
  std::shared_ptr<int> telling = std::make_shared<int>(0);

  bool IsLeader() const { return observed.holder == options.identity; }
  bool Valid() const { return observed_at + observed.lease() > clock.BootNow(); }

  // The way to the lease.
  void Acquire();
  void OnAcquired(Outcome outcome);
  void ArmExpiry();
  void Hurry();
  void OnSeen(Lease seen);
  void Lead();
  // Keeping it.
  void StartRound();
  void Poll();
  void OnPolled(Outcome outcome);
  void Lose(std::string_view why);
  // Giving it back.
  void StartRelease();
  void OnReleaseRead(Reply reply);
  void EndRelease(bool is_free);
  void TellReleased();

  // client-go's tryAcquireOrRenew.
  void Attempt(Attempted done);
  void Read(LeaseRecord wanted, Attempted done);
  void OnRead(LeaseRecord wanted, Lease seen, Attempted done);
  void Create(LeaseRecord wanted, Attempted done);
  void Update(LeaseRecord wanted, std::move_only_function<void(Expected<>)> done);
  bool Take(Reply reply, const LeaseRecord& written, BootTime since);
  void Observe(const LeaseRecord& record);
  BootTime SinceWhen(const LeaseRecord& written);

  void Send(ApiRequest request, std::move_only_function<void(Reply)> done);
  void Tell(std::string_view what);
  void StopTimers();
  void Shutdown();
};

LeaderElector::Impl::Impl(http::Loop& loop, Api& api, Api& events, const Clock& clock,
                          metrics::Registry& registry, LeaseFence& fence, LeaderElectionOptions given,
                          LeaderElectionHandlers handlers)
    : loop(loop),
      api(api),
      events(events),
      clock(clock),
      fence(fence),
      options(std::move(given)),
      handlers(std::move(handlers)),
      described(options.ns + "/" + options.name),
      collection(fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases", options.ns)),
      path(collection + "/" + options.name),
      master(registry.Gauge("leader_election_master_status",
                            "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 "
                            "indicates backup, 1 indicates master. 'name' is the string used to identify the "
                            "lease. Please make sure to group by name.",
                            {{"name", "kube-scheduler"}})),
      slow_path(registry.Counter("leader_election_slowpath_total",
                                 "[ALPHA] Total number of slow path exercised in renewing leader leases. "
                                 "'name' is the string used to identify the lease. Please make sure to group "
                                 "by name.",
                                 {{"name", "kube-scheduler"}})),
      random(options.seed),
      watch(loop, api, random, collection, options.name,
            {.on_lease = [this](Lease seen) { OnSeen(std::move(seen)); }, .on_gone = [this] { Hurry(); }}) {
  master.Set(0);
}

// --- the way to the lease
// ----------------------------------------------------------------------------------------

void LeaderElector::Impl::Acquire() {
  phase = Phase::kAcquiring;
  next = http::Loop::TimerId::kNone;
  attempting = true;
  hurry = false;
  Attempt([this](Outcome outcome) { OnAcquired(outcome); });
}

void LeaderElector::Impl::OnAcquired(Outcome outcome) {
  attempting = false;
  if (outcome == Outcome::kOurs) return Lead();
  if (log::V(4)) log::Info("Failed to acquire lease", {{"lock", described}});
  ArmExpiry();
  if (hurry) return Acquire();
  const double factor = 1 + kJitterFactor * random.Unit();
  next = loop.After(Scaled(options.retry_period, factor), [this] { Acquire(); });
}

// The original would find out that a lease has run out when it polls next.
void LeaderElector::Impl::ArmExpiry() {
  loop.Cancel(expiry);
  expiry = http::Loop::TimerId::kNone;
  const Duration left = observed_at + observed.lease() - clock.BootNow();
  if (observed.holder.empty() || left <= Duration::zero()) return;
  expiry = loop.After(left + std::chrono::milliseconds(1), [this] {
    expiry = http::Loop::TimerId::kNone;
    Hurry();
  });
}

void LeaderElector::Impl::Hurry() {
  if (phase != Phase::kAcquiring) return;
  if (attempting) {
    hurry = true;
    return;
  }
  loop.Cancel(next);
  Acquire();
}

// What the watch tells may be old; an attempt begins with reading the Lease, so that no harm comes of it.
void LeaderElector::Impl::OnSeen(Lease seen) {
  if (phase != Phase::kAcquiring) return;
  const LeaseRecord& record = seen.record();
  if (Cut(record) != observed_cut) {
    observed_cut = Cut(record);
    Observe(record);
    ArmExpiry();
  }
  if (record.holder.empty()) Hurry();
}

void LeaderElector::Impl::Lead() {
  phase = Phase::kLeading;
  watch.Stop();
  StopTimers();
  Tell("became leader");
  master.Set(1);
  log::Info("Successfully acquired lease", {{"lock", described}});
  handlers.on_started();
  StartRound();
}

// --- keeping it
// --------------------------------------------------------------------------------------------------

void LeaderElector::Impl::StartRound() {
  deadline = loop.After(options.renew_deadline, [this] { Lose("context deadline exceeded"); });
  next_poll = loop.Now();
  Poll();
}

void LeaderElector::Impl::Poll() {
  next = http::Loop::TimerId::kNone;
  Attempt([this](Outcome outcome) { OnPolled(outcome); });
}

void LeaderElector::Impl::OnPolled(Outcome outcome) {
  if (outcome == Outcome::kForeign) return Lose("the lease is held by " + observed.holder);
  if (outcome == Outcome::kOurs) {
    if (log::V(5)) log::Info("Successfully renewed lease", {{"lock", described}});
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
  if (call != 0) api.Cancel(call);
  StopTimers();
  master.Set(0);
  log::Info("Failed to renew lease", {{"lock", described}, {"err", why}});
  Tell("stopped leading");
  handlers.on_stopped();
}

// --- giving it back
// ----------------------------------------------------------------------------------------------

void LeaderElector::Impl::StartRelease() {
  const bool leads = phase == Phase::kLeading;
  phase = Phase::kReleasing;
  fence.Close();
  watch.Stop();
  if (call != 0) api.Cancel(call);
  call = 0;
  StopTimers();
  if (!leads) return EndRelease(false);
  master.Set(0);
  Tell("stopped leading");
  deadline = loop.After(options.renew_deadline, [this] {
    if (call != 0) api.Cancel(call);
    log::Error("Failed to release lease", {{"lock", described}, {"err", "context deadline exceeded"}});
    EndRelease(false);
  });
  Send({.path = path}, [this](Reply reply) { OnReleaseRead(std::move(reply)); });
}

void LeaderElector::Impl::OnReleaseRead(Reply reply) {
  const auto seen = reply ? Lease::Parse(*reply) : Expected<Lease>(std::unexpected(reply.error().ToError()));
  if (!seen) {
    log::Error("error retrieving resource lock", {{"lock", described}, {"err", seen.error().message}});
    return EndRelease(false);
  }
  if (seen->record().holder != options.identity) return EndRelease(false);
  const std::string now = FormatMicroTime(clock.WallNow());
  const LeaseRecord free{.holder = "",
                         .lease_seconds = 1,
                         .acquired = now,
                         .renewed = now,
                         .transitions = seen->record().transitions};
  Send({.method = "PUT", .path = path, .body = seen->With(free)}, [this](Reply written) {
    if (written) return EndRelease(true);
    if (written.error().code != ErrorCode::kConflict) {
      log::Error("Failed to release lease", {{"lock", described}, {"err", written.error().message}});
      return EndRelease(false);
    }
    // A renewal that was cancelled on its way has reached the server after all.
    if (log::V(4)) log::Info("Conflict when releasing lease, retrying", {{"lock", described}});
    Send({.path = path}, [this](Reply again) { OnReleaseRead(std::move(again)); });
  });
}

void LeaderElector::Impl::EndRelease(bool is_free) {
  phase = Phase::kEnded;
  StopTimers();
  free = is_free;
  if (*telling == 0) return TellReleased();
  deadline = loop.After(kEventPatience, [this] { TellReleased(); });
}

void LeaderElector::Impl::TellReleased() {
  StopTimers();
  if (auto done = std::exchange(released, nullptr)) done(free);
}

// --- one attempt
// -------------------------------------------------------------------------------------------------

void LeaderElector::Impl::Attempt(Attempted done) {
  const std::string now = FormatMicroTime(clock.WallNow());
  LeaseRecord wanted{
      .holder = options.identity,
      .lease_seconds = std::chrono::floor<std::chrono::seconds>(options.lease_duration).count(),
      .acquired = now,
      .renewed = now};
  if (!IsLeader() || !Valid() || !lease) return Read(std::move(wanted), std::move(done));
  // The leader assumes that nobody has touched the Lease since.
  LeaseRecord renewal = wanted;
  renewal.acquired = observed.acquired;
  renewal.transitions = observed.transitions;
  Update(renewal, [this, wanted, done = std::move(done)](Expected<> updated) mutable {
    if (updated) return done(Outcome::kOurs);
    if (log::V(2)) {
      log::Info("Failed to update lease optimistically, falling back to slow path",
                {{"lock", described}, {"err", updated.error().message}});
    }
    Read(std::move(wanted), std::move(done));
  });
}

void LeaderElector::Impl::Read(LeaseRecord wanted, Attempted done) {
  Send({.path = path}, [this, wanted = std::move(wanted), done = std::move(done)](Reply reply) mutable {
    if (!reply && reply.error().code == ErrorCode::kNotFound)
      return Create(std::move(wanted), std::move(done));
    auto seen = reply ? Lease::Parse(*reply) : Expected<Lease>(std::unexpected(reply.error().ToError()));
    if (!seen) {
      log::Error("Error retrieving lease lock", {{"lock", described}, {"err", seen.error().message}});
      return done(Outcome::kFailed);
    }
    OnRead(std::move(wanted), std::move(*seen), std::move(done));
  });
}

void LeaderElector::Impl::OnRead(LeaseRecord wanted, Lease seen, Attempted done) {
  lease = std::move(seen);
  const LeaseRecord& record = lease->record();
  if (Cut(record) != observed_cut) {
    observed_cut = Cut(record);
    Observe(record);
  }
  if (phase == Phase::kLeading && !IsLeader()) return done(Outcome::kForeign);
  if (!record.holder.empty() && Valid() && !IsLeader()) {
    if (log::V(4)) {
      log::Info("Lease is held by and has not yet expired", {{"lock", described}, {"holder", record.holder}});
    }
    return done(Outcome::kFailed);
  }
  if (IsLeader()) {
    wanted.acquired = record.acquired;
    wanted.transitions = record.transitions;
    slow_path.Add();
  } else {
    wanted.transitions = record.transitions + 1;
  }
  Update(wanted, [this, done = std::move(done)](Expected<> updated) mutable {
    if (updated) return done(Outcome::kOurs);
    log::Error("Failed to update lease", {{"lock", described}, {"err", updated.error().message}});
    done(Outcome::kFailed);
  });
}

void LeaderElector::Impl::Create(LeaseRecord wanted, Attempted done) {
  const BootTime since = SinceWhen(wanted);
  std::string body = Lease::Fresh(options.ns, options.name).With(wanted);
  Send({.method = "POST", .path = collection, .body = std::move(body)},
       [this, since, wanted = std::move(wanted), done = std::move(done)](Reply reply) mutable {
         if (reply && Take(std::move(reply), wanted, since)) return done(Outcome::kOurs);
         if (!reply) {
           log::Error("Error initially creating lease lock",
                      {{"lock", described}, {"err", reply.error().message}});
         }
         done(Outcome::kFailed);
       });
}

void LeaderElector::Impl::Update(LeaseRecord wanted, std::move_only_function<void(Expected<>)> done) {
  const BootTime since = SinceWhen(wanted);
  std::string body = lease->With(wanted);
  Send({.method = "PUT", .path = path, .body = std::move(body)},
       [this, since, wanted = std::move(wanted), done = std::move(done)](Reply reply) mutable {
         if (!reply) return done(std::unexpected(reply.error().ToError()));
         if (Take(std::move(reply), wanted, since)) return done({});
         done(Invalid("the answer is no Lease"));
       });
}

// A write of ours has succeeded.
bool LeaderElector::Impl::Take(Reply reply, const LeaseRecord& written, BootTime since) {
  auto answer = Lease::Parse(*reply);
  if (!answer) {
    log::Error("Unable to read the lease", {{"lock", described}, {"err", answer.error().message}});
    return false;
  }
  lease = std::move(*answer);
  Observe(written);
  fence.Renewed(since, written.lease());
  return true;
}

void LeaderElector::Impl::Observe(const LeaseRecord& record) {
  if (record.holder != observed.holder && log::V(1)) {
    log::Info("The lease has a new holder", {{"lock", described}, {"holder", record.holder}});
  }
  observed = record;
  observed_at = clock.BootNow();
}

// From when on others may count the lease that this record, written now, stands for. What looks the same to
// them is no renewal, and an attempt whose answer was lost may have been seen.
BootTime LeaderElector::Impl::SinceWhen(const LeaseRecord& written) {
  if (LeaseRecord cut = Cut(written); cut != written_cut) {
    written_cut = std::move(cut);
    written_at = clock.BootNow();
  }
  return written_at;
}

void LeaderElector::Impl::Send(ApiRequest request, std::move_only_function<void(Reply)> done) {
  request.timeout = options.request_timeout();
  request.path += "?timeout=" + FormatGoDuration(options.request_timeout());
  call = api.Send(std::move(request), [this, done = std::move(done)](Reply reply) mutable {
    call = 0;
    done(std::move(reply));
  });
}

void LeaderElector::Impl::Tell(std::string_view what) {
  if (!lease) return;
  ++*telling;
  SendLeaderEvent(events,
                  MakeLeaderEvent(*lease, options.ns, options.name, options.component,
                                  fmt::format("{} {}", options.identity, what), clock.WallNow()),
                  [this, telling = std::weak_ptr(telling)] {
                    const auto alive = telling.lock();
                    if (alive && --*alive == 0 && phase == Phase::kEnded) TellReleased();
                  });
}

void LeaderElector::Impl::StopTimers() {
  for (http::Loop::TimerId* timer : {&next, &expiry, &deadline}) {
    loop.Cancel(*timer);
    *timer = http::Loop::TimerId::kNone;
  }
}

void LeaderElector::Impl::Shutdown() {
  if (call != 0) api.Cancel(call);
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
    log::Info("Attempting to acquire leader lease...", {{"lock", impl->described}});
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
