#include "simulation/virtual_cluster.hpp"

#include <algorithm>
#include <utility>

#include "scheduler/recording/header.hpp"

namespace berth::simulation {

Expected<std::unique_ptr<VirtualCluster>> VirtualCluster::Build(const config::SchedulerConfig& config,
                                                                const runtime::Registry& plugins,
                                                                const VirtualClusterOptions& options,
                                                                std::vector<std::string>& notes) {
  auto time = std::make_unique<VirtualTime>();
  std::unique_ptr<recording::Recorder> recorder;
  if (!options.recording.directory.empty()) {
    BERTH_TRY(recorder, recording::Recorder::Create(options.recording.directory,
                                                    {.total = options.recording.limit_bytes}, time->clock()));
  }
  std::unique_ptr<VirtualCluster> cluster(new VirtualCluster(options, std::move(time), std::move(recorder)));
  BERTH_RETURN_IF_ERROR(cluster->MakeScheduler(config, plugins, notes));
  return cluster;
}

VirtualCluster::VirtualCluster(const VirtualClusterOptions& options, std::unique_ptr<VirtualTime> time,
                               std::unique_ptr<recording::Recorder> recorder)
    : options_(options), time_(std::move(time)), recorder_(std::move(recorder)) {}

// With a recorder the plugins read the clock where a replay reads it: for metrics, too.
Expected<void> VirtualCluster::MakeScheduler(const config::SchedulerConfig& config,
                                             const runtime::Registry& plugins,
                                             std::vector<std::string>& notes) {
  assembly::Measure measure;
  if (recorder_) {
    recorder_->BeginStart();
    measure = {.registry = &metrics_, .clock = &recorded_.clock(), .options = {}};
  }
  BERTH_TRY(engine_, assembly::Engine::Build(config, plugins, {recorded_.Watch(api_), api_, loop_, services_},
                                             notes, measure));
  if (recorder_) engine_->handle().signals.SetClock(recorded_.clock());
  cycle::SchedulerOptions options;
  options.queue.initial_backoff = config.pod_initial_backoff;
  options.queue.max_backoff = config.pod_max_backoff;
  options.algorithm.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score;
  options.algorithm.seed = options_.seed;
  // A recording has every attempt, and a unit of work with a group of pods makes many.
  options.record_bytes =
      recorder_ ? std::max(options_.record_bytes, std::size_t{8} << 20) : options_.record_bytes;
  scheduler_ = std::make_unique<cycle::Scheduler>(
      options,
      cycle::SchedulerParts{
          loop_, services_, engine_->handle(), engine_->cache(), engine_->profiles(), recorded_.clock(),
          metrics_, engine_->shared_extenders(), recorded_.fence(), tracer_,
          [this](std::size_t profile) { return recorder_ == nullptr || engine_->IsMeasured(profile); }});
  if (recorder_) {
    recorder_->Start(*scheduler_,
                     recording::HeaderOf(config, plugins.codecs(), options, time_->clock().WallNow()));
    writing_thread_.emplace(*recorder_);
  }
  return {};
}

// Responses that have not arrived refer to the scheduler.
VirtualCluster::~VirtualCluster() { time_->Clear(); }

void VirtualCluster::Start() {
  time_->AdvanceTo(time_->now() + options_.latencies.watch);
  loop_.sink().OnSynced();
}

// An attempt advances the clock; what happens meanwhile reaches the scheduler afterwards.
bool VirtualCluster::RunUntil(Duration time, const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
    const std::uint64_t before = attempts();
    const bool worked = loop_.RunOnce(*scheduler_);
    if (worked) AwaitRecording();
    const auto made = static_cast<std::int64_t>(attempts() - before);
    const Duration next = worked ? time_->now() + options_.decision * made : NextWork();
    if (next > time) {
      time_->AdvanceTo(time);
      return true;
    }
    time_->AdvanceTo(next);
  }
  return false;
}

// A simulation makes decisions faster than a recording is written.
void VirtualCluster::AwaitRecording() {
  constexpr std::uint64_t kUnits = 2000;  // some megabytes
  if (!recorder_ || ++units_ < kUnits) return;
  units_ = 0;
  writing_thread_->Flush();
}

bool VirtualCluster::Settle(Duration limit, const std::atomic<bool>& stop) {
  constexpr Duration kStep = std::chrono::milliseconds(100);
  const Duration end = time_->now() + limit;
  do {
    if (!RunUntil(time_->now() + kStep, stop)) return false;
    const queue::QueueSizes sizes = scheduler_->queue().sizes();
    if (!time_->Next() && sizes.active == 0 && sizes.backoff == 0) return true;
  } while (time_->now() < end);
  return false;
}

// The loop may report a time that has passed, for work that it checks only while it runs; a microsecond keeps
// the time moving.
Duration VirtualCluster::NextWork() {
  const MonoTime due = std::min(scheduler_->NextDue(), loop_.timers().Next().value_or(MonoTime::max()));
  const Duration event = time_->Next().value_or(Duration::max());
  if (due == MonoTime::max()) return event;
  return std::min(event, std::max(time_->Since(due), time_->now() + std::chrono::microseconds(1)));
}

}  // namespace berth::simulation
