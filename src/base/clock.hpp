// Time is passed as an argument: only `command` and the entry points read the operating system's clocks.
#pragma once

#include <chrono>
#include <string>

namespace berth {

using Duration = std::chrono::nanoseconds;
// Monotonic: for delays, deadlines and measured durations.
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
// Calendar time: for time stamps that leave the process.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;
// Monotonic, and includes the time that the machine is suspended. For leases, whose duration other machines
// measure.
struct SinceBoot {
  using duration = Duration;
};
using BootTime = std::chrono::time_point<SinceBoot, Duration>;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back; the time of day; the time since the machine started, suspension included.
  virtual MonoTime Now() const = 0;
  virtual WallTime WallNow() const = 0;
  virtual BootTime BootNow() const = 0;
};

// The clocks of the operating system.
class SystemClock final : public Clock {
 public:
  MonoTime Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }
  BootTime BootNow() const override;
};

// Advances only when it is moved; for tests and simulations. One thread.
class ManualClock final : public Clock {
 public:
  MonoTime Now() const override { return MonoTime(elapsed_); }
  WallTime WallNow() const override { return WallTime(std::chrono::hours(24 * 20000)) + elapsed_; }
  BootTime BootNow() const override { return BootTime(elapsed_ + suspended_); }
  void Advance(Duration by) { elapsed_ += by; }
  // Simulates a suspended machine: only the time since boot advances.
  void Suspend(Duration by) { suspended_ += by; }

 private:
  Duration elapsed_ = std::chrono::hours(1);
  Duration suspended_{};
};

// RFC 3339 in UTC as Kubernetes writes it: metav1.Time has whole seconds, metav1.MicroTime six digits.
std::string FormatTime(WallTime time);
std::string FormatMicroTime(WallTime time);

}  // namespace berth
