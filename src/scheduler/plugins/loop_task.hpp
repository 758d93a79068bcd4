// Work that a plugin does later, on the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::plugins {

// Requests that come while the work waits in the loop have no effect. Work that is still waiting when this
// object is destroyed is dropped. Scheduler loop only.
class LoopTask {
 public:
  LoopTask(framework::LoopExecutor& loop, std::function<void()> work)
      : loop_(loop), state_(std::make_shared<State>(State{std::move(work), false})) {}

  void Post() {
    if (Begin()) loop_.Post(Run());
  }
  void PostAfter(Duration delay) {
    if (Begin()) loop_.PostAfter(delay, Run());
  }

 private:
  struct State {
    std::function<void()> work;
    bool waiting = false;
  };
  bool Begin() { return !std::exchange(state_->waiting, true); }
  std::move_only_function<void()> Run() const {
    return [weak = std::weak_ptr(state_)] {
      const auto state = weak.lock();
      if (state == nullptr) return;
      state->waiting = false;
      state->work();
    };
  }

  framework::LoopExecutor& loop_;
  const std::shared_ptr<State> state_;
};

}  // namespace berth::plugins
