// A single thread of execution with timers, as an interface: production code runs on an IoThread, tests on a
// FakeLoop with simulated time.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <utility>

#include "base/clock.hpp"

namespace berth::http {

class Loop {
 public:
  using Task = std::move_only_function<void()>;
  enum class TimerId : std::uint64_t { kNone = 0 };

  virtual ~Loop() = default;
  // Runs `task` on the loop's thread, after everything posted before. Any thread.
  virtual void Post(Task task) = 0;
  // Runs `task` on the loop's thread once the delay is over. On the loop's thread only.
  virtual TimerId After(Duration delay, Task task) = 0;
  // Cancels a timer; does nothing if it has run. On the loop's thread only.
  virtual void Cancel(TimerId timer) = 0;
  virtual bool OnThread() const = 0;
  virtual MonoTime Now() const = 0;

  // Runs `task` on the loop's thread and returns when it has run; runs it directly if called on that thread.
  // Used to destroy objects that live on the loop from other threads.
  void Sync(Task task) {
    if (OnThread()) return task();
    std::promise<void> ran;
    Post([&] {
      task();
      ran.set_value();
    });
    ran.get_future().wait();
  }
};

}  // namespace berth::http
