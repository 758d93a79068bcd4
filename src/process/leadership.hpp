// One replica of several: it stands by, leads while it holds the lease, and leaves in order.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "kubernetes/client/leader_election.hpp"
#include "config/scheduler_config.hpp"

namespace berth::client {
class Api;
class ApiWriter;
class ClusterSource;
}  // namespace berth::client
namespace berth::cycle {
class Scheduler;
}
namespace berth::http {
class IoThread;
}

namespace berth::process {

// The configuration's election, with a fresh identity.
client::LeaderElectionOptions ElectionOf(const config::SchedulerConfig& config, const std::string& hostname);

// All of it outlives the Leadership. The scheduler was made to stand by, and writer and scheduler have the
// fence.
struct LeadershipParts {
  http::IoThread& io;
  client::Api& leases;
  client::Api& events;
  const Clock& clock;
  metrics::Registry& metrics;
  LeaseFence& fence;
  cycle::Scheduler& scheduler;
  client::ApiWriter& writer;
};

class Leadership {
 public:
  // `delay_cache`: the cluster is followed only while leading (delayCacheUntilActive).
  Leadership(client::LeaderElectionOptions options, bool delay_cache, LeadershipParts parts);

  // The source tells OnSynced when everything has been seen once: then the candidacy begins. On any thread.
  void OnSynced();
  // Ends the running scheduler in order; on any thread.
  void Leave();
  // Follows the cluster, stands by, leads, until Leave or the loss of the lease. Returns the exit code: 0, or
  // 1 when the lease was lost before anybody asked us to leave.
  int Run(client::ClusterSource& source);

 private:
  void OnLeading();
  void OnLost();
  void GiveBack();

  const bool delay_cache_;
  const Duration renew_deadline_;
  const LeadershipParts parts_;
  client::ClusterSource* source_ = nullptr;
  std::atomic<bool> leaving_{false}, lost_{false};
  client::LeaderElector elector_;
};

}  // namespace berth::process
