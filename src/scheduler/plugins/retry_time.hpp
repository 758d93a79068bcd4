// Retries pods that a plugin rejected until some time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin_state_change.hpp"
#include "scheduler/plugins/loop_task.hpp"

namespace berth::plugins {

// Unix seconds, rounded down. Times of objects have whole seconds, and may be far outside of the range of a
// WallTime.
inline std::int64_t UnixSeconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

// Publishes a kPluginState event when the earliest requested time has come, at most a second later. The pods
// that are rejected again request a later time. While no time is requested, nothing runs. Scheduler loop
// only.
class RetryTime {
 public:
  // Shared with the instance that a reload replaces, and the identity in the events.
  struct State {
    std::optional<std::int64_t> next;  // Unix seconds
  };

  // `event`: with a label of the plugin's own. `handle` must outlive this object.
  RetryTime(framework::Handle& handle, std::shared_ptr<State> state, framework::ClusterEvent event)
      : handle_(handle), state_(std::move(state)), event_(event) {
    if (state_->next) check_.PostAfter(kInterval);
  }

  // `when`: Unix seconds.
  void At(std::int64_t when) {
    state_->next = std::min(when, state_->next.value_or(when));
    check_.PostAfter(kInterval);
  }
  // The content as a value, for recordings.
  struct Saved {
    std::optional<std::int64_t> next;
    std::optional<MonoTime> check;
    static void VisitFields(auto& self, auto&& visit) {
      visit("next", self.next);
      visit("check", self.check);
    }
  };
  std::size_t timers() const { return check_.due() ? 1 : 0; }  // waiting ones
  Saved Save() const { return {state_->next, check_.due()}; }
  void Restore(const Saved& saved) {
    state_->next = saved.next;
    if (saved.check) check_.PostAt(*saved.check);
  }
  std::vector<framework::EventRegistration> Events() const {
    return {framework::WhenPluginStateChanges(state_.get())};
  }

 private:
  static constexpr Duration kInterval = std::chrono::seconds(1);

  void Check() {
    if (!state_->next) return;
    if (*state_->next > UnixSeconds(handle_.loop.WallNow())) return check_.PostAfter(kInterval);
    state_->next.reset();
    handle_.scheduler.PublishEvent(event_, framework::StateChangeOf(state_.get()));
  }

  framework::Handle& handle_;
  const std::shared_ptr<State> state_;
  const framework::ClusterEvent event_;
  LoopTask check_{handle_.loop, [this] { Check(); }};
};

}  // namespace berth::plugins
