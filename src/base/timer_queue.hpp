// A queue of tasks ordered by due time: timers for code that gets the time from a Clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.hpp"

namespace berth {

// One thread. The owner of that thread calls RunDue when the time returned by Next() has come; tests call it
// directly.
class TimerQueue {
 public:
  using Task = std::move_only_function<void()>;
  struct Id {
    MonoTime time;
    std::uint64_t number = 0;
    friend auto operator<=>(const Id&, const Id&) = default;
  };

  explicit TimerQueue(const Clock& clock);
  ~TimerQueue();
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  Id After(Duration delay, Task task);  // a delay beyond the last time of MonoTime ends there
  Id At(MonoTime time, Task task);
  // No effect if the task has already run.
  void Cancel(const Id& id);
  std::optional<MonoTime> Next() const;
  std::size_t size() const { return tasks_.size(); }
  // Runs the tasks that are due now, but not tasks that these add for the current time: a task that always
  // reschedules itself without delay must not block the caller forever. Returns whether there were any.
  bool RunDue();
  // Drops all tasks without running them.
  void Clear();
  // Sets the callback that is called when Next() becomes earlier.
  void OnEarlier(std::function<void()> callback) { on_earlier_ = std::move(callback); }

 private:
  const Clock& clock_;
  std::map<Id, Task> tasks_;
  std::uint64_t last_number_ = 0;
  std::function<void()> on_earlier_;
};

}  // namespace berth
