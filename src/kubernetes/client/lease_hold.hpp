// The Lease as one candidate sees it, and its attempts to get, keep and give it back.
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
  // kForeign: somebody else has it, as far as we know for some time yet.
  enum class Outcome : std::uint8_t { kOurs, kFailed, kForeign };
  using Attempted = std::move_only_function<void(Outcome)>;

  // `slow_path` counts renewals that had to read the Lease first.
  LeaseHold(Api& api, const Clock& clock, LeaseFence& fence, metrics::Counter& slow_path,
            LeaseHoldOptions options);

  // Tries once. Who `leads` takes nothing over: a Lease in which another name has stood since, or none, is
  // kForeign.
  void Attempt(bool leads, Attempted done);
  // Writes an empty holder, unless the Lease is not ours any more; again after a conflict, for as long as the
  // caller has patience. True if it is free now.
  void Release(std::move_only_function<void(bool)> done);
  // Ends what is under way without an answer.
  void Cancel();
  // Somebody saw the Lease (perhaps not the newest) at this moment.
  void See(const LeaseRecord& record);

  const std::optional<Lease>& lease() const { return lease_; }
  const std::string& holder() const { return observed_.holder; }
  // How long the holder may still count on it, by what we know and when we learned it. Not positive: expired.
  Duration Left() const { return observed_at_ + observed_.lease() - clock_.BootNow(); }
  // "kube-system/kube-scheduler", for log lines.
  const std::string& described() const { return described_; }
  const std::string& collection() const { return collection_; }

 private:
  bool IsOurs() const { return observed_.holder == options_.identity; }
  void Read(bool leads, LeaseRecord wanted, Attempted done);
  void OnRead(bool leads, LeaseRecord wanted, Lease seen, Attempted done);
  void Create(LeaseRecord wanted, Attempted done);
  void Update(LeaseRecord wanted, std::move_only_function<void(Expected<>)> done);
  Expected<> Take(Reply reply, const LeaseRecord& written, BootTime since);
  void OnReleaseRead(Reply reply, std::move_only_function<void(bool)> done);
  void Observe(const LeaseRecord& record);
  // Logs what came of the last call; with what there is to do if it was forbidden.
  void Complain(std::string_view what, const Error& error) const;
  BootTime SinceWhen(const LeaseRecord& written);
  void Send(ApiRequest request, std::move_only_function<void(Reply)> done);

  Api& api_;
  const Clock& clock_;
  LeaseFence& fence_;
  metrics::Counter& slow_path_;
  const LeaseHoldOptions options_;
  const std::string described_, collection_, path_;
  std::optional<Lease> lease_{};  // as the API server gave it last
  // The record that counts, and since when: seen in the Lease, or written by us.
  LeaseRecord observed_{};
  LeaseRecord seen_{};  // the last one that was read
  BootTime observed_at_{};
  // The first attempt to write a record that looks like this one to others: see SinceWhen.
  LeaseRecord written_{};
  BootTime written_at_{};
  Api::CallId call_ = 0;
  bool forbidden_ = false;  // what was asked last: roles do not allow it
};

}  // namespace berth::client
