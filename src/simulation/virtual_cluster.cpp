#include "simulation/virtual_cluster.hpp"

#include <algorithm>

namespace berth::simulation {

Expected<std::unique_ptr<VirtualCluster>> VirtualCluster::Build(const config::SchedulerConfig& config,
                                                                const runtime::Registry& plugins,
                                                                const VirtualClusterOptions& options,
                                                                std::vector<std::string>& notes) {
  std::unique_ptr<VirtualCluster> cluster(new VirtualCluster(options));
  VirtualCluster& parts = *cluster;
  BERTH_TRY(parts.engine_,
            assembly::Engine::Build(config, plugins, {parts.api_, parts.api_, parts.loop_, parts.services_},
                                    notes));
  cycle::SchedulerOptions scheduler;
  scheduler.queue.initial_backoff = config.pod_initial_backoff;
  scheduler.queue.max_backoff = config.pod_max_backoff;
  scheduler.algorithm.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score;
  scheduler.algorithm.seed = options.seed;
  scheduler.record_bytes = options.record_bytes;
  parts.scheduler_ = std::make_unique<cycle::Scheduler>(
      std::move(scheduler),
      cycle::SchedulerParts{parts.loop_, parts.services_, parts.engine_->handle(), parts.engine_->cache(),
                            parts.engine_->profiles(), parts.time_.clock(), parts.metrics_,
                            parts.engine_->shared_extenders(), parts.fence_, parts.tracer_,
                            [](std::size_t) { return true; }});
  return cluster;
}

VirtualCluster::VirtualCluster(const VirtualClusterOptions& options) : options_(options) {}

// Responses that have not arrived refer to the scheduler.
VirtualCluster::~VirtualCluster() { time_.Clear(); }

void VirtualCluster::Start() {
  time_.AdvanceTo(time_.now() + options_.latencies.watch);
  loop_.sink().OnSynced();
}

// An attempt advances the clock; what happens meanwhile reaches the scheduler afterwards.
bool VirtualCluster::RunUntil(Duration time, const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
    const std::uint64_t before = attempts();
    const bool worked = loop_.RunOnce(*scheduler_);
    const auto made = static_cast<std::int64_t>(attempts() - before);
    const Duration next = worked ? time_.now() + options_.decision * made : NextWork();
    if (next > time) {
      time_.AdvanceTo(time);
      return true;
    }
    time_.AdvanceTo(next);
  }
  return false;
}

bool VirtualCluster::Settle(Duration limit, const std::atomic<bool>& stop) {
  constexpr Duration kStep = std::chrono::milliseconds(100);
  const Duration end = time_.now() + limit;
  do {
    if (!RunUntil(time_.now() + kStep, stop)) return false;
    const queue::QueueSizes sizes = scheduler_->queue().sizes();
    if (!time_.Next() && sizes.active == 0 && sizes.backoff == 0) return true;
  } while (time_.now() < end);
  return false;
}

// The loop may report a time that has passed, for work that it checks only while it runs; a microsecond keeps
// the time moving.
Duration VirtualCluster::NextWork() {
  const MonoTime due = std::min(scheduler_->NextDue(), loop_.timers().Next().value_or(MonoTime::max()));
  const Duration event = time_.Next().value_or(Duration::max());
  if (due == MonoTime::max()) return event;
  return std::min(event, std::max(time_.Since(due), time_.now() + std::chrono::microseconds(1)));
}

}  // namespace berth::simulation
