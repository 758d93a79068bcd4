// One replica of several: stands by, leads while it holds the lease, and steps down in an orderly way.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "config/scheduler_config.hpp"
#include "kubernetes/client/leader_election.hpp"

namespace berth::client {
class Api;
class ApiWriter;
class ClusterSource;
}  // namespace berth::client
namespace berth::cycle {
class ClusterLoop;
class Scheduler;
}  // namespace berth::cycle
namespace berth::http {
class Loop;
}

namespace berth::process {

// The configuration's leader election, with a new identity.
client::LeaderElectionOptions ElectionOf(const config::SchedulerConfig& config, const std::string& hostname);

// Everything in it must outlive the Leadership. The scheduler must have been created as a standby, and writer
// and scheduler must use the fence.
struct LeadershipParts {
  http::Loop& io;  // of writer and election
  client::Api& leases;
  client::Api& events;
  const Clock& clock;
  metrics::Registry& metrics;
  LeaseFence& fence;
  cycle::ClusterLoop& loop;
  cycle::Scheduler& scheduler;
  client::ApiWriter& writer;
  // Ends the process after this time at the latest, even if the threads of `io` and of the scheduler loop are
  // blocked or have ended. Called on `io` at the loss of the lease, with kGrace.
  std::function<void(Duration)> end_process_within;
};

// The order of calls: Start, OnSynced, then Release after the scheduler loop has stopped. Run is all of it on
// threads.
class Leadership {
 public:
  static constexpr std::chrono::seconds kGrace{5};
  // Maximum wait for bindings in progress at an orderly end; well below the kubelet's 30 seconds.
  static constexpr std::chrono::seconds kDrainTimeout{5};

  // `delay_cache`: the cluster is watched only while leading (delayCacheUntilActive).
  Leadership(client::LeaderElectionOptions options, bool delay_cache, LeadershipParts parts);

  // Starts to watch the cluster and to stand by. `source` must outlive the election.
  void Start(client::ClusterSource& source);
  // Must be called when the source has synchronized all objects once. Then the candidacy starts, or with
  // `delay_cache` the freshness barrier, after which this replica schedules. Any thread.
  void OnSynced();
  // Starts the orderly end: drains the scheduler, which stops its loop. Any thread.
  void Leave();
  // The loop has stopped, by Leave or by the loss of the lease, which stops it. Releases the lease if no
  // write is in progress; otherwise the lease expires, because the API server may still execute writes of
  // this replica, which must not overlap with another leader. Calls `done` once, on `io`, with whether the
  // lease is free; takes at most kDrainTimeout + renewDeadline + kGrace. Must not be destroyed before.
  void Release(std::function<void(bool free)> done);
  // Start, the scheduler loop on this thread, Release. Returns the exit code: 0, or 1 if the lease was lost
  // before Leave was called.
  int Run(client::ClusterSource& source);

 private:
  struct Ending;

  void OnLeading();
  void LeadWhenFresh();
  void OnLost();

  const bool delay_cache_;
  const Duration renew_deadline_;
  const LeadershipParts parts_;
  client::ClusterSource* source_ = nullptr;
  std::atomic<bool> leaving_{false}, lost_{false};
  client::LeaderElector elector_;
};

}  // namespace berth::process
