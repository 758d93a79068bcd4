#include "tests/faults/replica.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "scheduler/recording/header.hpp"

namespace berth::faults {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t kMaxIterationMicros = 400;
// Of attempt records, if there is a recording: it has every attempt, and a unit of work with a group makes
// many.
constexpr std::size_t kRecordBytes = 256u << 10;

client::LeaderElectionOptions Election(const std::string& identity, std::uint64_t seed) {
  client::LeaderElectionOptions options;
  options.identity = identity;
  options.seed = seed;
  return options;
}

}  // namespace

Replica::Replica(simulation::VirtualTime& time, Network& network, Timeline& timeline, Options options)
    : options_(std::move(options)),
      time_(time),
      timeline_(timeline),
      random_(options_.seed),
      machine_(time, options_.seed + 1, [this] { Wake(); }),
      recording_(options_.recordings == nullptr
                     ? nullptr
                     : options_.recordings->Open(options_.identity, machine_, options_.disk_fault)),
      recorded_(recording_ ? &recording_->recorder() : nullptr, machine_.clock(), fence_),
      main_connection_(network, machine_, options_.index, options_.identity),
      event_connection_(network, machine_, options_.index, options_.identity),
      lease_connection_(network, machine_, options_.index, options_.identity),
      main_(machine_, main_connection_, metrics_, {}),
      events_api_(machine_, event_connection_, metrics_, {}),
      lease_api_(machine_, lease_connection_, metrics_, {}),
      extender_(options_.seed + 7, options_.extender_fault, [this](Duration time) { machine_.Block(time); }),
      prometheus_(machine_, options_.loads, options_.seed + 8, options_.measurement_fault) {
  writer_ = std::make_unique<client::ApiWriter>(machine_, main_, machine_.clock(), fence_,
                                                client::ApiWriterOptions{.seed = options_.seed + 2});
  events_ = std::make_unique<client::EventSink>(
      machine_, events_api_, machine_.clock(), metrics_,
      client::EventSinkOptions{.hostname = options_.identity, .seed = options_.seed + 3});
  if (recording_) recording_->recorder().BeginStart();
  std::vector<std::string> notes;
  auto engine = assembly::Engine::Build(options_.config, options_.plugins,
                                        {recorded_.Watch(*writer_), *events_, loop_, services_}, notes,
                                        {.registry = &metrics_, .clock = &recorded_.clock(), .options = {}},
                                        {.make_transport = recorded_.Watch(extender_.Maker())});
  BERTH_CHECK(engine.has_value(), engine.error().message);
  engine_ = std::move(*engine);
  cycle::SchedulerOptions scheduler;
  scheduler.queue.initial_backoff = options_.config.pod_initial_backoff;
  scheduler.queue.max_backoff = options_.config.pod_max_backoff;
  scheduler.algorithm.percentage_of_nodes_to_score = options_.config.percentage_of_nodes_to_score;
  scheduler.algorithm.seed = options_.seed + 4;
  scheduler.record_bytes = recording_ ? kRecordBytes : 0;
  scheduler.stand_by = true;
  scheduler_ = std::make_unique<cycle::Scheduler>(
      scheduler,
      cycle::SchedulerParts{loop_, services_, engine_->handle(), engine_->cache(), engine_->profiles(),
                            recorded_.clock(), metrics_, engine_->shared_extenders(), recorded_.fence(),
                            tracer_, [](std::size_t) { return true; }});
  if (recording_) {
    recording_->recorder().Start(*scheduler_, recording::HeaderOf(options_.config, options_.plugins.codecs(),
                                                                  scheduler, machine_.clock().WallNow()));
    recording_->StartWriting();
  }
  if (engine_->handle().signals.size() > 0) StartPoller();
  leadership_ = std::make_unique<process::Leadership>(
      Election(options_.identity, options_.seed + 5), false,
      process::LeadershipParts{machine_, lease_api_, events_api_, machine_.clock(), metrics_, fence_, loop_,
                               *scheduler_, *writer_,
                               [this](Duration limit) { machine_.After(limit, [this] { Exit(); }); }});
  client::ClusterSourceOptions source;
  source.seed = options_.seed + 6;
  source.retained = engine_->retained_fields();
  source.on_version = [this](std::string_view kind, std::string_view version) {
    if (kind == api::ResourceClaim::kKind) writer_->SetClaimVersion(version);
  };
  source.wanted = [this](const client::Resource& resource) {
    return resource.IsWatched(options_.config.gates, engine_->handle().requested_resources);
  };
  source.on_synced = [this] {
    timeline_.Add(options_.identity, "is synced");
    leadership_->OnSynced();
  };
  source_ =
      std::make_unique<client::ClusterSource>(machine_, main_, metrics_, loop_.sink(), std::move(source));
  leadership_->Start(*source_);
}

void Replica::StartPoller() {
  load_metrics::SignalTable& signals = engine_->handle().signals;
  signals.SetClock(recorded_.clock());
  auto poller = load_metrics::Poller::Start(
      MetricSources(), {.loop = machine_,
                        .measurements = signals,
                        .post = loop_.poster(),
                        .post_result =
                            [this, post = loop_.poster()](const auto& result, auto work) {
                              const cycle::OriginScope origin(recorded_.OriginOf(result));
                              post(std::move(work));
                            },
                        .metrics = metrics_,
                        .access = prometheus_.Parts(),
                        .seed = options_.seed + 9});
  BERTH_CHECK(poller.has_value(), poller.error().message);
  poller_ = std::move(*poller);
}

// In the order of process/scheduler_process.cpp. What the members send while they are destroyed is dropped
// with the machine.
Replica::~Replica() {
  if (recording_)
    options_.recordings->OnEnd(options_.identity, scheduler_->records().end(), recording_->complete());
  source_.reset();
  leadership_.reset();
  poller_.reset();
  events_.reset();
  writer_.reset();
}

void Replica::CompleteRecording() {
  if (recording_) recording_->Complete();
}

void Replica::Terminate() {
  timeline_.Add(options_.identity, "receives SIGTERM");
  leadership_->Leave();
  Wake();
}

// --- the scheduler's thread ---

// A message may have arrived.
void Replica::Wake() { ScheduleRun({}); }

void Replica::ScheduleRun(Duration delay) {
  const Duration at = std::max(busy_until_, time_.now() + delay);
  if (at >= run_at_) return;
  run_at_ = at;
  const std::uint64_t number = ++run_number_;
  machine_.RunOnOtherThread(at - time_.now(), [this, number] {
    if (number == run_number_) RunLoop();
  });
}

void Replica::RunLoop() {
  run_at_ = Duration::max();
  if (loop_stopped_) return;
  if (loop_.stopping()) {
    loop_stopped_ = true;
    leadership_->Release([this](bool free) {
      timeline_.Add(options_.identity, "{}", free ? "has released the lease" : "has not released the lease");
      CompleteRecording();
      Exit();
    });
    return;
  }
  machine_.EnterOtherThread();
  const bool worked = loop_.RunOnce(*scheduler_);
  busy_until_ =
      time_.now() + machine_.LeaveOtherThread() + microseconds(1 + random_.Below(kMaxIterationMicros));
  if (worked) return ScheduleRun({});
  const MonoTime due = std::min(scheduler_->NextDue(), loop_.timers().Next().value_or(MonoTime::max()));
  if (due != MonoTime::max()) ScheduleRun(std::max<Duration>(due - machine_.Now(), milliseconds(1)));
}

void Replica::Exit() {
  if (std::exchange(exiting_, true)) return;
  timeline_.Add(options_.identity, "ends");
  machine_.Stop();
  // The caller destroys this object, which must not happen in one of its own tasks.
  time_.After({}, [on_exit = options_.on_exit] { on_exit(); });
}

}  // namespace berth::faults
