// Until when somebody who leads by a lease may write.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "base/clock.hpp"

namespace berth {

// A leader may only write as long as nobody else can have taken its lease. Its own clock has to say so, at
// the moment of the write: a process that was frozen, or whose machine slept, wakes up in the middle of
// whatever it was doing and is told nothing.
//
// Why the end of the last renewal is a safe bound. A renewal sent at s reaches the server at some r >= s;
// another candidate learns of it at some o >= r and counts the lease's duration D from o, by its own clock.
// So it does not write before s + D, if clocks run at the same speed and not while machines sleep
// (CLOCK_BOOTTIME). Two corrections:
//   - Speeds differ, and between the look at the clock and the server's commit there is a way to go. The
//   fence
//     closes a twentieth of D early (0.75 s of 15 s): ten times what ppm of two drifting clocks add up to,
//     and far more than a request takes.
//   - A candidate of client-go compares records with times cut to seconds. Of several renewals within one
//     second of the calendar it notices only the first, so only the first counts (see LeaseHold).
// What is left is a write that the kernel took in time and the network delivered late. No clock of ours can
// hold that back; the next leader finds and reports what comes of it (berth_overcommitted_placements_total).
//
// Safe from any thread; Open is one load and a look at the clock. One writer.
class LeaseFence {
 public:
  explicit LeaseFence(const Clock& clock) : clock_(clock) {}

  static Duration Margin(Duration lease) { return lease / 20; }

  bool Open() const {
    return clock_.BootNow().time_since_epoch().count() < until_.load(std::memory_order_acquire);
  }

  // The lease was renewed by a request sent at `sent`. Never moves back: answers may overtake each other.
  void Renewed(BootTime sent, Duration lease) {
    const std::int64_t until = (sent + lease - Margin(lease)).time_since_epoch().count();
    if (!closed_ && until > until_.load(std::memory_order_relaxed))
      until_.store(until, std::memory_order_release);
  }
  // For good.
  void Close() {
    closed_ = true;
    until_.store(std::numeric_limits<std::int64_t>::min(), std::memory_order_release);
  }

 private:
  const Clock& clock_;
  std::atomic<std::int64_t> until_{std::numeric_limits<std::int64_t>::min()};  // BootTime
  bool closed_ = false;                                                        // the writer's
};

}  // namespace berth
