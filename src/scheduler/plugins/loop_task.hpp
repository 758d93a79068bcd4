// Work that a plugin does later, on the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::plugins {

// Requests that come while the work waits in the loop have no effect. Work that is still waiting when this
// object is destroyed is dropped. Scheduler loop only.
class LoopTask {
 public:
  LoopTask(framework::LoopExecutor& loop, std::function<void()> work)
      : loop_(loop), state_(std::make_shared<State>(State{std::move(work), false, std::nullopt})) {}

  void Post() {
    if (Begin()) loop_.Post(Run());
  }
  void PostAfter(Duration delay) {
    if (Begin()) state_->due = loop_.PostAfter(delay, Run());
  }
  // As the PostAfter of an earlier process whose work was due then.
  void PostAt(MonoTime due) {
    if (!Begin()) return;
    state_->due = due;
    loop_.PostAt(due, Run());
  }
  // When the work of PostAfter or PostAt is due; nullopt: none is waiting.
  std::optional<MonoTime> due() const { return state_->due; }

 private:
  struct State {
    std::function<void()> work;
    bool waiting = false;
    std::optional<MonoTime> due;
  };
  bool Begin() { return !std::exchange(state_->waiting, true); }
  std::move_only_function<void()> Run() const {
    return [weak = std::weak_ptr(state_)] {
      const auto state = weak.lock();
      if (state == nullptr) return;
      state->waiting = false;
      state->due.reset();
      state->work();
    };
  }

  framework::LoopExecutor& loop_;
  const std::shared_ptr<State> state_;
};

}  // namespace berth::plugins
