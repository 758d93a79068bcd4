// What ends by itself: terminating namespaces, and events after an hour.
#pragma once

#include <deque>
#include <string>

#include "base/timer_queue.hpp"
#include "sandbox/apiserver/verbs.hpp"

namespace berth::sandbox {

// One thread.
class Housekeeping final : public StoreObserver {
 public:
  Housekeeping(Verbs& verbs, TimerQueue& timers);
  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  // Deletes what is in a terminating namespace, then the namespace; looks again while something is left.
  void EmptyNamespace(const std::string& name);
  void DropOldEvents();

  struct Mortal {
    MonoTime end;
    std::string key;
    std::string uid;
  };
  Verbs& verbs_;
  TimerQueue& timers_;
  std::deque<Mortal> events_;  // in the order of their ends
};

}  // namespace berth::sandbox
