// One replica of several: stands by, leads while it holds the lease, and steps down in an orderly way.
#pragma once

#include <atomic>
#include <memory>
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
class IoThread;
}

namespace berth::process {

// The configuration's leader election, with a new identity.
client::LeaderElectionOptions ElectionOf(const config::SchedulerConfig& config, const std::string& hostname);

// Everything in it must outlive the Leadership. The scheduler must have been created as a standby, and writer
// and scheduler must use the fence.
struct LeadershipParts {
  http::IoThread& io;
  client::Api& leases;
  client::Api& events;
  const Clock& clock;
  metrics::Registry& metrics;
  LeaseFence& fence;
  cycle::ClusterLoop& loop;
  cycle::Scheduler& scheduler;
  client::ApiWriter& writer;
};

class Leadership {
 public:
  // `delay_cache`: the cluster is watched only while leading (delayCacheUntilActive).
  Leadership(client::LeaderElectionOptions options, bool delay_cache, LeadershipParts parts);

  // Must be called when the source has synchronized all objects once; the candidacy starts then. Any thread.
  void OnSynced();
  // Starts the orderly end of Run. Any thread.
  void Leave();
  // Watches the cluster, stands by, leads, until Leave or the loss of the lease. Returns the exit code: 0, or
  // 1 if the lease was lost before Leave was called.
  int Run(client::ClusterSource& source);

 private:
  void OnLeading();
  void OnLost();
  void ReleaseLease();

  const bool delay_cache_;
  const Duration renew_deadline_;
  const LeadershipParts parts_;
  client::ClusterSource* source_ = nullptr;
  std::atomic<bool> leaving_{false}, lost_{false};
  client::LeaderElector elector_;
};

}  // namespace berth::process
