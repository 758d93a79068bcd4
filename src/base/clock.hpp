// Time as an argument. Nobody below `command` asks the operating system what time it is.
#pragma once

#include <chrono>
#include <string>

namespace berth {

using Duration = std::chrono::nanoseconds;
// Monotonic: for delays, deadlines and measured durations.
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
// Calendar time: for time stamps that leave the process.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;
// Monotonic, and runs on while the machine is suspended: for promises to other machines, whose clocks run on
// too.
struct SinceBoot {
  using duration = Duration;
};
using BootTime = std::chrono::time_point<SinceBoot, Duration>;

// Safe to ask from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonoTime Now() const = 0;
  virtual WallTime WallNow() const = 0;
  virtual BootTime BootNow() const = 0;
};

class SystemClock final : public Clock {
 public:
  MonoTime Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }
  BootTime BootNow() const override;
};

// Stands still until it is moved; for tests and simulations. One thread.
class ManualClock final : public Clock {
 public:
  MonoTime Now() const override { return MonoTime(elapsed_); }
  WallTime WallNow() const override { return WallTime(std::chrono::hours(24 * 20000)) + elapsed_; }
  BootTime BootNow() const override { return BootTime(elapsed_ + suspended_); }
  void Advance(Duration by) { elapsed_ += by; }
  // The machine sleeps: only the time since boot goes on.
  void Suspend(Duration by) { suspended_ += by; }

 private:
  Duration elapsed_ = std::chrono::hours(1);
  Duration suspended_{};
};

// RFC 3339 in UTC as Kubernetes writes it: metav1.Time has whole seconds, metav1.MicroTime six digits.
std::string FormatTime(WallTime time);
std::string FormatMicroTime(WallTime time);

}  // namespace berth
