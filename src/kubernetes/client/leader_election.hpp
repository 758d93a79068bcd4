// Leader election among replicas with a Lease.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth {
class LeaseFence;
}
namespace berth::http {
class Loop;
}
namespace berth::metrics {
class Registry;
}

namespace berth::client {

class Api;

struct LeaderElectionOptions {
  std::string resource_lock = "leases";
  std::string ns = "kube-system";
  std::string name = "kube-scheduler";
  std::string identity{};                       // see NewIdentity
  std::string component = "default-scheduler";  // the source of events
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  std::uint64_t seed = 1;  // for the jitter of delays

  // Timeout of a request of the election: max(1s, renewDeadline/2), so that one hanging request does not lose
  // the lease.
  Duration request_timeout() const;
};

// client-go's errors with kube-scheduler's context ("couldn't create leader elector: leaseDuration must be
// greater than renewDeadline").
Expected<> CheckLeaderElection(const LeaderElectionOptions& options);
// The check that kube-scheduler makes before it starts: the kind of lock.
Expected<> CheckLeaderLock(const std::string& resource_lock);

// "<hostname>_<random UUID>": distinguishes two processes on one host.
std::string NewIdentity(const std::string& hostname);

// All called on the loop.
struct LeaderElectionHandlers {
  std::function<void()> on_started{};  // this replica holds the lease; the fence is open
  // The lease was lost, or could not be renewed in time: the fence is closed permanently. Not called after
  // Release.
  std::function<void()> on_stopped{};
};

// kube-scheduler's election (client-go 0.37's leaderelection with a LeaseLock): the same record, timing,
// events, log lines and metrics, so that Berth and kube-scheduler can stand by for each other. A candidate
// measures another holder's lease from the moment it observed a change, by its own clock. A leader renews
// every retryPeriod and stops after renewDeadline without success.
//
// Differences from client-go:
//   - A standby also watches the Lease, and tries immediately when it is released or expires. Without the
//     permission to watch it polls, as client-go does.
//   - A leader that finds another holder in the Lease stops immediately; client-go continues until
//     renewDeadline.
//   - A standby that has seen a holder creates a deleted Lease only leaseDuration after it found it missing;
//     client-go creates it at once, although the holder may still write. A leader creates its deleted Lease
//     again only while its fence is open, and stops otherwise.
//   - A lost lease is not released, since writes may still be in flight. It expires.
//   - A release never overwrites another holder.
//   - Times are read from the clock that includes suspended time.
//
// Constructed, started and destroyed on any thread, lives on the loop; arguments must outlive it. Only the
// elector moves the fence.
class LeaderElector {
 public:
  LeaderElector(http::Loop& loop, Api& api, Api& events, const Clock& clock, metrics::Registry& registry,
                LeaseFence& fence, LeaderElectionOptions options, LeaderElectionHandlers handlers);
  ~LeaderElector();  // calls no handler; the lease is unchanged
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  void Start();
  // Ends the candidacy. Closes a leader's fence and releases its lease, so that another replica can acquire
  // it immediately; retries for renewDeadline. Then calls `done` (on the loop) with whether the lease is
  // free. From any thread.
  void Release(std::move_only_function<void(bool)> done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
