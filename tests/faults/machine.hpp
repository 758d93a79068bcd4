// A simulated computer with one process: its clocks, and its IO thread as a loop on virtual time.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/random.hpp"
#include "http/loop.hpp"
#include "simulation/virtual_time.hpp"

namespace berth::faults {

// The clocks of one machine. The time of day can be wrong; the monotonic clock excludes suspended time, as
// CLOCK_MONOTONIC does.
class MachineClock final : public Clock {
 public:
  explicit MachineClock(const Clock& global) : global_(global) {}
  MonoTime Now() const override { return global_.Now() - suspended_; }
  WallTime WallNow() const override { return global_.WallNow() + wall_offset_; }
  BootTime BootNow() const override { return global_.BootNow(); }

  void JumpWall(Duration by) { wall_offset_ += by; }
  void AddSuspended(Duration time) { suspended_ += time; }

 private:
  const Clock& global_;
  Duration wall_offset_{};
  Duration suspended_{};
};

// Tasks start a random time of up to `kMaxStartDelay` after they were posted, in the order of posting, so
// that the threads of a process interleave differently with every seed. While the machine is stopped no task
// runs. The destructor drops all tasks, as the end of a process does. One thread.
class Machine final : public http::Loop {
 public:
  static constexpr Duration kMaxStartDelay = std::chrono::microseconds(300);

  // `after_task` is called after every task of the loop; may be empty. The arguments must outlive the
  // machine.
  Machine(simulation::VirtualTime& time, std::uint64_t seed, std::function<void()> after_task);
  ~Machine() override;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // --- http::Loop ---
  void Post(Task task) override;
  TimerId After(Duration delay, Task task) override;
  void Cancel(TimerId timer) override;
  bool OnThread() const override { return true; }
  MonoTime Now() const override { return clock_.Now(); }

  // The process's other thread runs until LeaveOtherThread: what it posts meanwhile starts after the time for
  // which it has been blocked.
  void EnterOtherThread() { on_other_thread_ = true; }
  void Block(Duration time) { blocked_ += time; }
  // Returns the time for which the thread was blocked since EnterOtherThread.
  Duration LeaveOtherThread();

  MachineClock& clock() { return clock_; }
  simulation::VirtualTime& time() { return time_; }
  // No task of any thread runs until Start. A stopped process keeps its connections.
  void Stop() { stopped_ = true; }
  // The machine was stopped for `suspended`, during which its monotonic clock stood still. Zero: only the
  // process was stopped (SIGSTOP).
  void Start(Duration suspended);
  bool stopped() const { return stopped_; }
  // Runs a task of the loop after `delay` of global time, unless the machine is destroyed before. While the
  // machine is stopped it waits.
  void RunAt(Duration delay, Task task) { RunOn(true, delay, std::move(task)); }
  // The same for the process's other thread: `after_task` is not called.
  void RunOnOtherThread(Duration delay, Task task) { RunOn(false, delay, std::move(task)); }

 private:
  void RunOn(bool loop, Duration delay, Task task);
  void Run(bool loop, Task task);
  void Fire(std::uint64_t timer);

  simulation::VirtualTime& time_;
  Random random_;
  const std::function<void()> after_task_;
  MachineClock clock_;
  bool stopped_ = false;
  // Tasks start in the order of their posting by the same thread.
  Duration next_start_{}, next_start_of_other_thread_{};
  bool on_other_thread_ = false;
  Duration blocked_{};
  std::uint64_t last_timer_ = 0;
  struct Timer {
    MonoTime due;  // by the machine's clock
    Task task;
  };
  std::map<std::uint64_t, Timer> timers_;
  std::deque<std::pair<bool, Task>> waiting_;  // on the loop or not; became due while the machine was stopped
  std::shared_ptr<Machine*> self_;
};

}  // namespace berth::faults
