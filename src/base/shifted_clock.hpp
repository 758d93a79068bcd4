// A clock for tests whose time of day is set.
#pragma once

#include "base/clock.hpp"

namespace berth {

// The clocks of another one, which must outlive it, except for the time of day: as after an administrator has
// set it. One thread.
class ShiftedClock final : public Clock {
 public:
  explicit ShiftedClock(const Clock& clock) : clock_(clock) {}
  MonoTime Now() const override { return clock_.Now(); }
  WallTime WallNow() const override { return clock_.WallNow() + shift_; }
  BootTime BootNow() const override { return clock_.BootNow(); }
  // Sets the time of day forward; back if negative.
  void SetWallClock(Duration by) { shift_ += by; }

 private:
  const Clock& clock_;
  Duration shift_{};
};

}  // namespace berth
