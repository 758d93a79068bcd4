// One candidate's view of the Lease, and its attempts to acquire, renew and release it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "kubernetes/client/api.hpp"
#include "kubernetes/client/lease_record.hpp"

namespace berth {
class LeaseFence;
}
namespace berth::metrics {
class Counter;
}

namespace berth::client {

struct LeaseHoldOptions {
  std::string ns, name, identity;
  Duration lease_duration{};
  Duration request_timeout{};
};

// client-go 0.37's tryAcquireOrRenew and tryRelease over a LeaseLock. One request at a time; on the API's
// loop.
class LeaseHold {
 public:
  enum class Outcome : std::uint8_t {
    kOurs,
    kFailed,
    kForeign,  // another candidate holds it, and it has not expired as far as known
    kGone,     // the leader's Lease was deleted, and another candidate may have held a new one since
  };
  using Attempted = std::move_only_function<void(Outcome)>;

  // `slow_path` counts renewals that had to read the Lease first.
  LeaseHold(Api& api, const Clock& clock, LeaseFence& fence, metrics::Counter& slow_path,
            LeaseHoldOptions options);

  // Tries once. A candidate that `leads` never takes the Lease over: if another holder, or none, has been in
  // it since, the result is kForeign.
  //
  // The deletion of a Lease does not end the lease: its holder may write until its fence closes. A candidate
  // that has seen a holder creates the Lease only a whole lease duration after it first found it missing,
  // since the last renewals may have escaped it; until then the result is kForeign. A leader creates it again
  // while its fence is open, and not afterwards (kGone). A candidate that has never seen the Lease creates it
  // immediately: it cannot distinguish a deleted Lease from that of a new cluster.
  void Attempt(bool leads, Attempted done);
  // Writes an empty holder, unless another candidate holds the Lease; repeated after a conflict until the
  // caller cancels. Passes true if the Lease is free now.
  void Release(std::move_only_function<void(bool)> done);
  // Cancels the current request without calling its callback.
  void Cancel();
  // Records a Lease that was read elsewhere (perhaps not the newest version).
  void OnLeaseRead(const LeaseRecord& record);

  const std::optional<Lease>& lease() const { return lease_; }
  const std::string& holder() const { return observed_.holder; }
  // The remaining duration of the holder's lease, from what was observed and when. Not positive: expired.
  Duration Left() const { return observed_at_ + observed_.lease() - clock_.BootNow(); }
  // "kube-system/kube-scheduler", for log lines.
  const std::string& described() const { return described_; }
  const std::string& collection() const { return collection_; }

 private:
  bool IsOurs() const { return observed_.holder == options_.identity; }
  void Read(bool leads, LeaseRecord wanted, Attempted done);
  void OnRead(bool leads, LeaseRecord wanted, Lease seen, Attempted done);
  void OnMissing(bool leads, LeaseRecord wanted, Attempted done);
  void Create(bool leads, LeaseRecord wanted, Attempted done);
  void Update(LeaseRecord wanted, std::move_only_function<void(Expected<>)> done);
  Expected<> Take(Reply reply, const LeaseRecord& written, BootTime since);
  void OnReleaseRead(Reply reply, std::move_only_function<void(bool)> done);
  void Observe(const LeaseRecord& record);
  // Logs the failure of the last call, with the required permissions if it was forbidden.
  void LogFailure(std::string_view what, const Error& error) const;
  BootTime SinceWhen(const LeaseRecord& written);
  void Send(ApiRequest request, std::move_only_function<void(Reply)> done);

  Api& api_;
  const Clock& clock_;
  LeaseFence& fence_;
  metrics::Counter& slow_path_;
  const LeaseHoldOptions options_;
  const std::string described_, collection_, path_;
  std::optional<Lease> lease_{};  // the last version received from the API server
  // The authoritative record, and when it was observed in the Lease or written by this candidate.
  LeaseRecord observed_{};
  LeaseRecord last_read_{};
  BootTime observed_at_{};
  bool missing_ = false;  // the Lease did not exist when it was last read
  // The first attempt to write a record that others cannot distinguish from this one: see SinceWhen.
  LeaseRecord written_{};
  BootTime written_at_{};
  Api::CallId call_ = 0;
  bool forbidden_ = false;  // the last request was forbidden by the cluster's roles
};

}  // namespace berth::client
