// Removes expired objects: the contents of terminating namespaces, and events after an hour. Creates the
// namespace of the node leases again after its deletion.
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
  // Deletes the contents of a terminating namespace, then the namespace. Retries while objects or finalizers
  // of other controllers remain.
  void EmptyNamespace(const std::string& name);
  void RestoreSystemNamespace();
  void DropOldEvents();

  struct ExpiringEvent {
    MonoTime end;
    std::string key;
    std::string uid;
  };
  Verbs& verbs_;
  TimerQueue& timers_;
  std::deque<ExpiringEvent> events_;  // by expiry time
};

}  // namespace berth::sandbox
