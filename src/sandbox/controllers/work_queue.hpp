// Work queue of a controller.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "base/timer_queue.hpp"

namespace berth::sandbox {

// Like client-go's rate-limited work queue: a key is in it at most once. Each reconcile returns the number of
// objects it read, and the next reconcile of that key is delayed in proportion. This limits a controller of
// 10,000 pods to a small share of the time, even under frequent changes. An exception of a reconcile is
// printed and counts as a failure. One thread.
class WorkQueue {
 public:
  struct Outcome {
    std::size_t objects_read = 0;
    bool failed = false;     // retry, with exponential back-off (5 ms, 10 ms ... 1000 s)
    Duration again_after{};  // zero: only after the next change
  };
  using Reconcile = std::function<Outcome(const std::string& key)>;

  WorkQueue(TimerQueue& timers, const Clock& clock, Reconcile reconcile)
      : timers_(timers), clock_(clock), reconcile_(std::move(reconcile)) {}

  void Add(const std::string& key) { AddAfter(key, Duration::zero()); }
  // If called several times for a key, the earliest time applies.
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
