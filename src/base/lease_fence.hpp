// The time until which the holder of a leader election lease may write.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "base/clock.hpp"

namespace berth {

// Whether this process may write to the API server now. Open is thread-safe.
class Fence {
 public:
  virtual ~Fence() = default;
  virtual bool Open() const = 0;
};

// A leader may write only as long as no other candidate can have acquired its lease. It must check its own
// clock at the moment of each write: a process that was frozen, or whose machine was suspended, resumes
// anywhere without notice.
//
// Why the end of the last renewal is a safe bound: a renewal sent at s reaches the server at some r >= s.
// Another candidate observes it at some o >= r and counts the lease's duration D from o, by its own clock. So
// it does not write before s + D, provided that clocks run at the same speed and include suspended time
// (CLOCK_BOOTTIME). Two corrections:
//   - Speeds differ, and time passes between the clock check and the server's commit. The fence closes a
//     twentieth of D early (0.75 s of 15 s). That is ten times the error of two drifting clocks and far more
//     than a request takes.
//   - A client-go candidate compares records with times cut to seconds. Of several renewals within one
//     calendar second it notices only the first, so only the first counts (see LeaseHold).
// A write that the kernel accepted in time and the network delivered late is not covered. The next leader
// detects and reports its effect (berth_overcommitted_placements_total).
//
// Thread-safe; Open is one atomic load and one clock read. One writer.
class LeaseFence final : public Fence {
 public:
  // Closed until the first Renewed.
  explicit LeaseFence(const Clock& clock) : clock_(clock) {}
  // Never closes by itself: for a process without leader election.
  static LeaseFence AlwaysOpen(const Clock& clock) {
    return LeaseFence(clock, std::numeric_limits<std::int64_t>::max());
  }

  static Duration Margin(Duration lease) { return lease / 20; }

  bool Open() const override {
    return clock_.BootNow().time_since_epoch().count() < until_.load(std::memory_order_acquire);
  }

  // The lease was renewed by a request sent at `sent`. The fence never moves back: responses may arrive out
  // of order.
  void Renewed(BootTime sent, Duration lease) {
    const std::int64_t until = (sent + lease - Margin(lease)).time_since_epoch().count();
    if (!closed_ && until > until_.load(std::memory_order_relaxed))
      until_.store(until, std::memory_order_release);
  }
  // Closes the fence permanently.
  void Close() {
    closed_ = true;
    until_.store(std::numeric_limits<std::int64_t>::min(), std::memory_order_release);
  }

 private:
  LeaseFence(const Clock& clock, std::int64_t until) : clock_(clock), until_(until) {}

  const Clock& clock_;
  std::atomic<std::int64_t> until_{std::numeric_limits<std::int64_t>::min()};  // BootTime
  bool closed_ = false;                                                        // used by the writer only
};

}  // namespace berth
