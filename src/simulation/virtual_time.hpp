// Virtual time: a clock that stands still while code runs and jumps from event to event.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "simulation/event_queue.hpp"

namespace berth::simulation {

// Times are relative to the start of the simulation. Events of the same time run in the order in which they
// were added, so that a run depends on nothing but its input. One thread.
class VirtualTime {
 public:
  using Event = EventQueue::Event;
  using EventId = EventQueue::Id;

  VirtualTime() = default;
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  const Clock& clock() const { return clock_; }
  Duration now() const { return clock_.Now() - start_; }
  Duration Since(MonoTime time) const { return time - start_; }

  // At `time`, or now if that has passed.
  EventId At(Duration time, Event event) {
    return events_.Add(start_ + std::max(time, now()), std::move(event));
  }
  EventId After(Duration delay, Event event) { return At(now() + delay, std::move(event)); }
  // No effect if the event has already run.
  void Cancel(const EventId& id) { events_.Cancel(id); }
  // The time of the first event; nullopt: there is none.
  std::optional<Duration> Next() const {
    return events_.empty() ? std::nullopt : std::optional(events_.next() - start_);
  }
  // Runs the events until `time` (inclusive), each at its own time, also those that are added meanwhile;
  // then the clock shows `time`. Events that add events without delay forever make this endless.
  void AdvanceTo(Duration time) {
    const MonoTime target = start_ + time;
    while (!events_.empty() && events_.next() <= target) {
      const MonoTime next = events_.next();
      if (next > clock_.Now()) clock_.Advance(next - clock_.Now());
      events_.Take()();
    }
    if (target > clock_.Now()) clock_.Advance(target - clock_.Now());
  }
  // Drops all events without running them.
  void Clear() { events_.Clear(); }

 private:
  ManualClock clock_;
  const MonoTime start_ = clock_.Now();
  EventQueue events_;
};

}  // namespace berth::simulation
