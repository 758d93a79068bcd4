#include "process/leadership.hpp"

#include <future>
#include <memory>
#include <random>
#include <utility>

#include "http/loop.hpp"
#include "kubernetes/client/api_writer.hpp"
#include "kubernetes/client/informers.hpp"
#include "observability/log/log.hpp"
#include "scheduler/cycle/scheduler.hpp"

namespace berth::process {
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

void Leadership::Start(client::ClusterSource& source) {
  source_ = &source;
  if (delay_cache_) {
    elector_.Start();
  } else {
    source.Start();
  }
}

void Leadership::OnSynced() { delay_cache_ ? LeadWhenFresh() : elector_.Start(); }

// Not before all kinds are synchronized: the barrier skips claims that have not been listed yet.
void Leadership::OnLeading() {
  if (!delay_cache_) return LeadWhenFresh();
  log::Info("Starting informers and waiting for sync...");
  source_->Start();
}

void Leadership::LeadWhenFresh() {
  source_->FreshnessBarrier([this] { parts_.scheduler.Lead(); });
}

void Leadership::OnLost() {
  log::Error("Leaderelection lost");
  lost_.store(true, std::memory_order_relaxed);
  parts_.end_process_within(kGrace);
  parts_.loop.Stop();
}

void Leadership::Leave() {
  leaving_.store(true, std::memory_order_relaxed);
  log::Info("Requested to terminate, exiting");
  parts_.scheduler.Drain(kDrainTimeout);
}

// Used on the io loop only.
struct Leadership::Ending {
  std::function<void(bool)> done;
  bool quiet = false;  // no write is in progress
  bool ended = false;  // after this the Leadership may be destroyed

  void End(bool free) {
    if (!std::exchange(ended, true)) done(free);
  }
};

void Leadership::Release(std::function<void(bool)> done) {
  const auto ending = std::make_shared<Ending>(std::move(done));
  const auto keep_lease = [ending] {
    if (ending->quiet || ending->ended) return;
    log::Warning("Writes are still in progress: the lease is not released and will expire");
    ending->End(false);
  };
  if (parts_.scheduler.unconfirmed_bindings() > 0) return parts_.io.Post(keep_lease);
  parts_.io.Post([this, keep_lease] { parts_.io.After(kDrainTimeout, keep_lease); });
  const auto release = [this, ending] {
    if (ending->ended) return;
    ending->quiet = true;
    parts_.io.After(renew_deadline_ + kGrace, [ending] { ending->End(false); });
    elector_.Release([ending](bool free) {
      if (free) log::Info("Released the lease");
      ending->End(free);
    });
  };
  // A lost lease is not released: there is nothing to wait for.
  if (lost_.load(std::memory_order_relaxed)) return parts_.io.Post(release);
  parts_.writer.WhenIdle(release);
}

int Leadership::Run(client::ClusterSource& source) {
  Start(source);
  parts_.loop.Run(parts_.scheduler);
  const auto ended = std::make_shared<std::promise<void>>();
  Release([ended](bool) { ended->set_value(); });
  ended->get_future().wait();
  return lost_.load(std::memory_order_relaxed) && !leaving_.load(std::memory_order_relaxed) ? 1 : 0;
}

}  // namespace berth::process
