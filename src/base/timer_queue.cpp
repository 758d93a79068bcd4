#include "base/timer_queue.hpp"

#include <utility>

namespace berth {

TimerQueue::TimerQueue(const Clock& clock) : clock_(clock) {}
TimerQueue::~TimerQueue() = default;

TimerQueue::Id TimerQueue::After(Duration delay, Task task) {
  const MonoTime now = clock_.Now();
  return At(delay < MonoTime::max() - now ? now + delay : MonoTime::max(), std::move(task));
}

TimerQueue::Id TimerQueue::At(MonoTime time, Task task) {
  const Id id{time, ++last_number_};
  const bool first = tasks_.emplace(id, std::move(task)).first == tasks_.begin();
  if (first && on_earlier_) on_earlier_();
  return id;
}

void TimerQueue::Cancel(const Id& id) { tasks_.erase(id); }

std::optional<MonoTime> TimerQueue::Next() const {
  if (tasks_.empty()) return std::nullopt;
  return tasks_.begin()->first.time;
}

bool TimerQueue::RunDue() {
  const Id end{clock_.Now(), last_number_ + 1};
  bool any = false;
  while (!tasks_.empty() && tasks_.begin()->first < end) {
    Task task = std::move(tasks_.begin()->second);
    tasks_.erase(tasks_.begin());
    task();
    any = true;
  }
  return any;
}

void TimerQueue::Clear() { tasks_.clear(); }

}  // namespace berth
