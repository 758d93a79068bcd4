// One of several replicas leads: by a Lease that it holds and renews.
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
  std::uint64_t seed = 1;  // of the jitter in delays

  // How long a request of the election may take: max(1s, renewDeadline/2), so that one that hangs does not
  // cost the lease.
  Duration request_timeout() const;
};

// client-go's errors with kube-scheduler's context ("couldn't create leader elector: leaseDuration must be
// greater than renewDeadline").
Expected<> CheckLeaderElection(const LeaderElectionOptions& options);
// The part of it that kube-scheduler finds before it starts: the kind of lock.
Expected<> CheckLeaderLock(const std::string& resource_lock);

// "<hostname>_<random UUID>": two processes of one host do not take each other for themselves.
std::string NewIdentity(const std::string& hostname);

// All called on the loop.
struct LeaderElectionHandlers {
  std::function<void()> on_started{};  // the lease is ours; the fence is open
  // It is not any more, or we did not manage to say that it is: the fence is closed for good. Not called
  // after Release.
  std::function<void()> on_stopped{};
};

// kube-scheduler's election (client-go 0.37's leaderelection with a LeaseLock): the same record, timing,
// events, log lines and metrics, so that both can stand by for each other. A candidate counts another one's
// lease from the moment it saw it change, by its own clock; a leader renews every retryPeriod and gives up
// when it could not for renewDeadline.
//
// Beyond the original:
//   - A standby also watches the Lease, and tries at once when it is released or runs out. Where it may not
//     watch it polls, as the original does.
//   - A leader that finds another holder's name in the Lease stops at once; the original goes on until
//     renewDeadline.
//   - Nothing is released after a lost lease: writes may still be on their way. It runs out by itself.
//   - A release never overwrites another holder.
//   - Times are read from the clock that runs on while the machine sleeps.
//
// Constructed, started and destroyed on any thread, lives on the loop; everything handed in outlives it. The
// fence is the elector's to move.
class LeaderElector {
 public:
  LeaderElector(http::Loop& loop, Api& api, Api& events, const Clock& clock, metrics::Registry& registry,
                LeaseFence& fence, LeaderElectionOptions options, LeaderElectionHandlers handlers);
  ~LeaderElector();  // silently: the lease stays as it is
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  void Start();
  // Ends the candidacy. A leader's fence is closed and its lease given back, so that another one may take it
  // at once; that is tried for renewDeadline. Then calls `done` (on the loop), with whether the lease is
  // free. From any thread.
  void Release(std::move_only_function<void(bool)> done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
