#include "tests/faults/machine.hpp"

#include <algorithm>
#include <utility>

namespace berth::faults {

Machine::Machine(simulation::VirtualTime& time, std::uint64_t seed, std::function<void()> after_task)
    : time_(time),
      random_(seed),
      after_task_(std::move(after_task)),
      clock_(time.clock()),
      self_(std::make_shared<Machine*>(this)) {}

Machine::~Machine() { *self_ = nullptr; }

void Machine::Post(Task task) {
  const auto delay = Duration(random_.Below(static_cast<std::uint64_t>(kMaxStartDelay.count())));
  Duration& next_start = on_other_thread_ ? next_start_of_other_thread_ : next_start_;
  next_start = std::max(next_start, time_.now() + blocked_ + delay);
  RunAt(next_start - time_.now(), std::move(task));
}

Duration Machine::LeaveOtherThread() {
  on_other_thread_ = false;
  return std::exchange(blocked_, Duration{});
}

void Machine::RunOn(bool loop, Duration delay, Task task) {
  time_.After(delay, [self = self_, loop, task = std::move(task)]() mutable {
    if (*self != nullptr) (*self)->Run(loop, std::move(task));
  });
}

void Machine::Run(bool loop, Task task) {
  if (stopped_) {
    waiting_.emplace_back(loop, std::move(task));
    return;
  }
  task();
  if (loop && after_task_) after_task_();
}

http::Loop::TimerId Machine::After(Duration delay, Task task) {
  const std::uint64_t id = ++last_timer_;
  timers_.emplace(id, Timer{clock_.Now() + delay, std::move(task)});
  RunAt(delay, [this, id] { Fire(id); });
  return static_cast<TimerId>(id);
}

void Machine::Fire(std::uint64_t id) {
  const auto found = timers_.find(id);
  if (found == timers_.end()) return;
  // After a suspension the timer is due later by global time.
  if (found->second.due > clock_.Now())
    return RunAt(found->second.due - clock_.Now(), [this, id] { Fire(id); });
  Task task = std::move(found->second.task);
  timers_.erase(found);
  task();
}

void Machine::Cancel(TimerId timer) { timers_.erase(static_cast<std::uint64_t>(timer)); }

void Machine::Start(Duration suspended) {
  clock_.AddSuspended(suspended);
  stopped_ = false;
  for (auto& [loop, task] : std::exchange(waiting_, {})) RunOn(loop, {}, std::move(task));
}

}  // namespace berth::faults
