// Keys to be looked at: a controller's memory of what it has yet to do.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "base/timer_queue.hpp"

namespace berth::sandbox {

// Like client-go's rate-limited work queue: a key is in it once however often it is added. Each reconcile
// tells how many objects it looked at, and the next one of that key waits in proportion: a controller of
// 10,000 pods takes some percent of the time, not all of it, however fast they change. One thread.
class WorkQueue {
 public:
  struct Outcome {
    std::size_t looked_at = 0;
    bool failed = false;     // try again, later each time (5 ms, 10 ms ... 1000 s)
    Duration again_after{};  // zero: when something changes
  };
  using Reconcile = std::function<Outcome(const std::string& key)>;

  WorkQueue(TimerQueue& timers, const Clock& clock, Reconcile reconcile)
      : timers_(timers), clock_(clock), reconcile_(std::move(reconcile)) {}

  void Add(const std::string& key) { AddAfter(key, Duration::zero()); }
  // The earliest of several times counts.
  void AddAfter(const std::string& key, Duration delay);
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Entry {
    TimerQueue::Id id;
    MonoTime due;
  };
  void Run(const std::string& key);

  TimerQueue& timers_;
  const Clock& clock_;
  Reconcile reconcile_;
  std::unordered_map<std::string, Entry> waiting_;
  std::unordered_map<std::string, MonoTime> rest_until_;
  std::unordered_map<std::string, unsigned> failures_;
};

}  // namespace berth::sandbox
