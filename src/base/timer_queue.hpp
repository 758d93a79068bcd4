// Timers with an explicit clock: tasks ordered by their time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.hpp"

namespace berth {

// One thread. The owner of the thread calls RunDue at the time of Next(); tests call it directly.
class TimerQueue {
 public:
  using Task = std::move_only_function<void()>;
  struct Id {
    MonoTime time;
    std::uint64_t number = 0;
    friend auto operator<=>(const Id&, const Id&) = default;
  };

  explicit TimerQueue(const Clock& clock) : clock_(clock) {}

  Id After(Duration delay, Task task) {
    const Id id{clock_.Now() + delay, ++last_number_};
    const bool first = tasks_.emplace(id, std::move(task)).first == tasks_.begin();
    if (first && on_earlier_) on_earlier_();
    return id;
  }
  // Does nothing if the task has already run.
  void Cancel(const Id& id) { tasks_.erase(id); }

  std::optional<MonoTime> Next() const {
    if (tasks_.empty()) return std::nullopt;
    return tasks_.begin()->first.time;
  }
  // Runs the tasks that are due when it is called. Tasks that they add are left for the next call, so that a
  // task that reschedules itself without delay cannot block the caller.
  void RunDue() {
    const Id end{clock_.Now(), last_number_ + 1};
    while (!tasks_.empty() && tasks_.begin()->first < end) {
      Task task = std::move(tasks_.begin()->second);
      tasks_.erase(tasks_.begin());
      task();
    }
  }
  // `callback` is called when Next() has become earlier.
  void OnEarlier(std::function<void()> callback) { on_earlier_ = std::move(callback); }

 private:
  const Clock& clock_;
  std::map<Id, Task> tasks_;
  std::uint64_t last_number_ = 0;
  std::function<void()> on_earlier_;
};

}  // namespace berth
