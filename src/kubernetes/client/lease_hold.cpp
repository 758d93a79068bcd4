#include "kubernetes/client/lease_hold.hpp"

#include <fmt/format.h>

#include "base/go_duration.hpp"
#include "base/lease_fence.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

// The record as client-go compares it: as JSON, with times in whole seconds.
LeaseRecord Cut(LeaseRecord record) {
  for (std::string* time : {&record.acquired, &record.renewed}) {
    if (const auto dot = time->find('.'); dot != time->npos) time->resize(dot);
  }
  return record;
}

Expected<Lease> LeaseOf(const Reply& reply) {
  if (!reply) return std::unexpected(reply.error().ToError());
  return Lease::Parse(*reply);
}

}  // namespace

LeaseHold::LeaseHold(Api& api, const Clock& clock, LeaseFence& fence, metrics::Counter& slow_path,
                     LeaseHoldOptions options)
    : api_(api),
      clock_(clock),
      fence_(fence),
      slow_path_(slow_path),
      options_(std::move(options)),
      described_(options_.ns + "/" + options_.name),
      collection_(fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases", options_.ns)),
      path_(collection_ + "/" + options_.name) {}

void LeaseHold::Attempt(bool leads, Attempted done) {
  const std::string now = FormatMicroTime(clock_.WallNow());
  LeaseRecord wanted{
      .holder = options_.identity,
      .lease_seconds = std::chrono::floor<std::chrono::seconds>(options_.lease_duration).count(),
      .acquired = now,
      .renewed = now};
  if (!IsOurs() || Left() <= Duration::zero() || !lease_)
    return Read(leads, std::move(wanted), std::move(done));
  // The leader assumes that the Lease has not changed since.
  LeaseRecord renewal = wanted;
  renewal.acquired = observed_.acquired;
  renewal.transitions = observed_.transitions;
  Update(std::move(renewal),
         [this, leads, wanted = std::move(wanted), done = std::move(done)](Expected<> updated) mutable {
           if (updated) return done(Outcome::kOurs);
           if (const auto log = log::V(2)) {
             log.Info("Failed to update lease optimistically, falling back to slow path",
                      {{"lock", described_}, {"err", updated.error().message}});
           }
           Read(leads, std::move(wanted), std::move(done));
         });
}

void LeaseHold::Read(bool leads, LeaseRecord wanted, Attempted done) {
  Send({.path = path_},
       [this, leads, wanted = std::move(wanted), done = std::move(done)](Reply reply) mutable {
         if (!reply && reply.error().code == ErrorCode::kNotFound)
           return OnMissing(leads, std::move(wanted), std::move(done));
         auto seen = LeaseOf(reply);
         if (!seen) {
           LogFailure("Error retrieving lease lock", seen.error());
           return done(Outcome::kFailed);
         }
         OnRead(leads, std::move(wanted), std::move(*seen), std::move(done));
       });
}

void LeaseHold::OnRead(bool leads, LeaseRecord wanted, Lease seen, Attempted done) {
  lease_ = std::move(seen);
  const LeaseRecord& record = lease_->record();
  OnLeaseRead(record);
  if (leads && !IsOurs()) return done(Outcome::kForeign);
  if (!record.holder.empty() && Left() > Duration::zero() && !IsOurs()) {
    if (const auto log = log::V(4)) {
      log.Info("Lease is held by and has not yet expired", {{"lock", described_}, {"holder", record.holder}});
    }
    return done(Outcome::kForeign);
  }
  if (IsOurs()) {
    wanted.acquired = record.acquired;
    wanted.transitions = record.transitions;
    slow_path_.Add();
  } else {
    wanted.transitions = record.transitions + 1;
  }
  Update(std::move(wanted), [this, done = std::move(done)](Expected<> updated) mutable {
    if (updated) return done(Outcome::kOurs);
    LogFailure("Failed to update lease", updated.error());
    done(Outcome::kFailed);
  });
}

void LeaseHold::OnMissing(bool leads, LeaseRecord wanted, Attempted done) {
  if (leads) {
    if (!fence_.Open()) return done(Outcome::kGone);
    return Create(leads, std::move(wanted), std::move(done));
  }
  // The holder may have renewed the Lease between our last look and its deletion.
  if (!std::exchange(missing_, true)) observed_at_ = clock_.BootNow();
  if (!observed_.holder.empty() && !IsOurs() && Left() > Duration::zero()) {
    if (const auto log = log::V(4)) {
      log.Info("Lease is missing and its holder's time has not yet expired",
               {{"lock", described_}, {"holder", observed_.holder}});
    }
    return done(Outcome::kForeign);
  }
  Create(leads, std::move(wanted), std::move(done));
}

void LeaseHold::Create(bool leads, LeaseRecord wanted, Attempted done) {
  const BootTime since = SinceWhen(wanted);
  std::string body = Lease::Fresh(options_.ns, options_.name).With(wanted);
  Send({.method = "POST", .path = collection_, .body = std::move(body)},
       [this, leads, since, wanted = std::move(wanted), done = std::move(done)](Reply reply) mutable {
         // Unlike an update, a creation has no precondition: a leader that was suspended meanwhile must not
         // count it.
         if (leads && !fence_.Open()) return done(Outcome::kGone);
         const Expected<> taken = Take(std::move(reply), wanted, since);
         if (taken) return done(Outcome::kOurs);
         LogFailure("Error initially creating lease lock", taken.error());
         done(Outcome::kFailed);
       });
}

void LeaseHold::Update(LeaseRecord wanted, std::move_only_function<void(Expected<>)> done) {
  const BootTime since = SinceWhen(wanted);
  std::string body = lease_->With(wanted);
  Send({.method = "PUT", .path = path_, .body = std::move(body)},
       [this, since, wanted = std::move(wanted), done = std::move(done)](Reply reply) mutable {
         done(Take(std::move(reply), wanted, since));
       });
}

// Processes the response to a write.
Expected<> LeaseHold::Take(Reply reply, const LeaseRecord& written, BootTime since) {
  BERTH_TRY(lease_, LeaseOf(reply));
  Observe(written);
  fence_.Renewed(since, written.lease());
  return {};
}

void LeaseHold::LogFailure(std::string_view what, const Error& error) const {
  if (!forbidden_) return log::Error(what, {{"lock", described_}, {"err", error.message}});
  log::Error(
      what,
      {{"lock", described_},
       {"err", error.message},
       {"hint", fmt::format("a Role in namespace {} must allow create, get and update of leases, of this one "
                            "at least (deploy/rbac); leaderElection.resourceName chooses another one",
                            options_.ns)}});
}

void LeaseHold::OnLeaseRead(const LeaseRecord& record) {
  missing_ = false;
  if (record == last_read_) return;
  last_read_ = record;
  Observe(record);
}

void LeaseHold::Observe(const LeaseRecord& record) {
  if (const auto log = log::V(1); log && record.holder != observed_.holder) {
    log.Info("The lease has a new holder", {{"lock", described_}, {"holder", record.holder}});
  }
  observed_ = record;
  observed_at_ = clock_.BootNow();
}

// The time from which others may count the lease of this record, written now. A record that looks the same to
// them is no renewal, and an attempt whose response was lost may have been observed.
BootTime LeaseHold::SinceWhen(const LeaseRecord& written) {
  if (LeaseRecord cut = Cut(written); cut != written_) {
    written_ = std::move(cut);
    written_at_ = clock_.BootNow();
  }
  return written_at_;
}

void LeaseHold::Release(std::move_only_function<void(bool)> done) {
  Send({.path = path_}, [this, done = std::move(done)](Reply reply) mutable {
    OnReleaseRead(std::move(reply), std::move(done));
  });
}

void LeaseHold::OnReleaseRead(Reply reply, std::move_only_function<void(bool)> done) {
  const auto seen = LeaseOf(reply);
  if (!seen) {
    log::Error("error retrieving resource lock", {{"lock", described_}, {"err", seen.error().message}});
    return done(false);
  }
  if (seen->record().holder != options_.identity) return done(false);
  const std::string now = FormatMicroTime(clock_.WallNow());
  const LeaseRecord free{.holder = "",
                         .lease_seconds = 1,
                         .acquired = now,
                         .renewed = now,
                         .transitions = seen->record().transitions};
  Send({.method = "PUT", .path = path_, .body = seen->With(free)},
       [this, done = std::move(done)](Reply written) mutable {
         if (written) return done(true);
         if (written.error().code != ErrorCode::kConflict) {
           log::Error("Failed to release lease", {{"lock", described_}, {"err", written.error().message}});
           return done(false);
         }
         // A renewal that was cancelled in flight reached the server after all.
         if (const auto log = log::V(4))
           log.Info("Conflict when releasing lease, retrying", {{"lock", described_}});
         Release(std::move(done));
       });
}

void LeaseHold::Send(ApiRequest request, std::move_only_function<void(Reply)> done) {
  request.timeout = options_.request_timeout;
  request.path += "?timeout=" + FormatGoDuration(options_.request_timeout);
  call_ = api_.Send(std::move(request), [this, done = std::move(done)](Reply reply) mutable {
    call_ = 0;
    forbidden_ = !reply && reply.error().http_code == 403;
    done(std::move(reply));
  });
}

void LeaseHold::Cancel() {
  if (call_ != 0) api_.Cancel(std::exchange(call_, 0));
}

}  // namespace berth::client
