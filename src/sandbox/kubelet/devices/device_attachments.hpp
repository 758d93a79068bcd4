// The binding conditions of simulated devices.
#pragma once

#include <string>

#include "base/timer_queue.hpp"
#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/controllers/work_queue.hpp"
#include "sandbox/kubelet/devices/device_groups.hpp"

namespace berth::sandbox {

// Sets the conditions kAttached and kAttachFailed in the status of allocated devices that have them
// (DeviceGroup::attach), some time after the allocation. Devices of other drivers are left alone. One thread.
class DeviceAttachments final : public StoreObserver {
 public:
  // Registers itself with the store and takes over existing claims.
  DeviceAttachments(Verbs& verbs, TimerQueue& timers);
  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  WorkQueue::Outcome Sync(const std::string& claim);
  std::string AttachOf(const json::object& allocated) const;

  Verbs& verbs_;
  WorkQueue queue_;  // keys of claims
};

}  // namespace berth::sandbox
