// A Loop for tests: tasks run and time advances only when the test calls Run or Advance.
#pragma once

#include <deque>
#include <map>

#include "http/loop.hpp"

namespace berth::http {

class FakeLoop final : public Loop {
 public:
  void Post(Task task) override { posted_.push_back(std::move(task)); }
  TimerId After(Duration delay, Task task) override {
    const auto id = static_cast<TimerId>(++last_timer_);
    timers_.emplace(std::pair(clock_.Now() + delay, id), std::move(task));
    delays_.push_back(delay);
    return id;
  }
  void Cancel(TimerId timer) override {
    std::erase_if(timers_, [&](const auto& entry) { return entry.first.second == timer; });
  }
  bool OnThread() const override { return true; }
  MonoTime Now() const override { return clock_.Now(); }

  // Runs posted tasks, including those that they post.
  void Run() {
    while (!posted_.empty()) {
      Task task = std::move(posted_.front());
      posted_.pop_front();
      task();
    }
  }
  // Advances time and runs timers in the order in which they are due.
  void Advance(Duration by) {
    const MonoTime end = clock_.Now() + by;
    Run();
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
      clock_.Advance(timers_.begin()->first.first - clock_.Now());
      Task task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      task();
      Run();
    }
    clock_.Advance(end - clock_.Now());
  }

  const ManualClock& clock() const { return clock_; }
  ManualClock& clock() { return clock_; }  // lets a test make time jump
  std::size_t timers() const { return timers_.size(); }
  // All delays that were passed to After, in order.
  const std::deque<Duration>& delays() const { return delays_; }

 private:
  ManualClock clock_;
  std::deque<Task> posted_;
  std::map<std::pair<MonoTime, TimerId>, Task> timers_;
  std::deque<Duration> delays_;
  std::uint64_t last_timer_ = 0;
};

}  // namespace berth::http
