#include "process/leadership.hpp"

#include <unistd.h>

#include <future>
#include <random>

#include "http/io_thread.hpp"
#include "kubernetes/client/api_writer.hpp"
#include "kubernetes/client/informers.hpp"
#include "observability/log/log.hpp"
#include "scheduler/cycle/scheduler.hpp"

namespace berth::process {
namespace {

// Maximum wait for bindings in progress at an orderly end; well below the kubelet's 30 seconds.
constexpr std::chrono::seconds kDrainTimeout{5};
// After the loss of the lease the process ends, even if its threads are blocked.
constexpr std::chrono::seconds kGrace{5};

}  // namespace

client::LeaderElectionOptions ElectionOf(const config::SchedulerConfig& config, const std::string& hostname) {
  const config::LeaderElection& wanted = config.leader_election;
  client::LeaderElectionOptions options;
  options.resource_lock = wanted.resource_lock;
  options.ns = wanted.resource_namespace;
  options.name = wanted.resource_name;
  options.identity = client::NewIdentity(hostname);
  if (!config.profiles.empty()) options.component = config.profiles.front().scheduler_name;
  options.lease_duration = wanted.lease_duration;
  options.renew_deadline = wanted.renew_deadline;
  options.retry_period = wanted.retry_period;
  options.seed = std::random_device{}();
  return options;
}

Leadership::Leadership(client::LeaderElectionOptions options, bool delay_cache, LeadershipParts parts)
    : delay_cache_(delay_cache),
      renew_deadline_(options.renew_deadline),
      parts_(parts),
      elector_(parts.io, parts.leases, parts.events, parts.clock, parts.metrics, parts.fence,
               std::move(options),
               {.on_started = [this] { OnLeading(); }, .on_stopped = [this] { OnLost(); }}) {}

void Leadership::OnSynced() {
  if (!delay_cache_) elector_.Start();
}

void Leadership::Leave() {
  leaving_.store(true, std::memory_order_relaxed);
  log::Info("Requested to terminate, exiting");
  parts_.scheduler.Drain(kDrainTimeout);
}

void Leadership::OnLeading() {
  if (delay_cache_) {
    log::Info("Starting informers and waiting for sync...");
    source_->Start();
  }
  source_->FreshnessBarrier([this] { parts_.scheduler.Lead(); });
}

void Leadership::OnLost() {
  log::Error("Leaderelection lost");
  lost_.store(true, std::memory_order_relaxed);
  parts_.io.After(kGrace, [] { _exit(1); });
  parts_.loop.Stop();
}

int Leadership::Run(client::ClusterSource& source) {
  source_ = &source;
  if (delay_cache_) {
    elector_.Start();
  } else {
    source.Start();
  }
  parts_.loop.Run(parts_.scheduler);
  ReleaseLease();
  return lost_.load(std::memory_order_relaxed) && !leaving_.load(std::memory_order_relaxed) ? 1 : 0;
}

// If the API server may still carry out requests of this replica, these must not overlap with another leader:
// the lease is then left to expire.
void Leadership::ReleaseLease() {
  bool quiet = parts_.scheduler.unconfirmed_bindings() == 0;
  if (quiet && !lost_.load(std::memory_order_relaxed)) {
    const auto idle = std::make_shared<std::promise<void>>();
    parts_.writer.WhenIdle([idle] { idle->set_value(); });
    quiet = idle->get_future().wait_for(kDrainTimeout) == std::future_status::ready;
  }
  if (!quiet) return log::Warning("Writes are still in progress: the lease is not released and will expire");
  const auto ended = std::make_shared<std::promise<bool>>();
  auto result = ended->get_future();
  elector_.Release([ended](bool free) { ended->set_value(free); });
  const bool in_time = result.wait_for(renew_deadline_ + kGrace) == std::future_status::ready;
  if (in_time && result.get()) log::Info("Released the lease");
}

}  // namespace berth::process
