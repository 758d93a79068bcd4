// The simulated drivers of all nodes: publish the nodes' devices as ResourceSlices.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/timer_queue.hpp"
#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/controllers/event_recorder.hpp"
#include "sandbox/controllers/work_queue.hpp"
#include "sandbox/kubelet/devices/device_groups.hpp"

namespace berth::sandbox {

// Label of the slices that simulated drivers publish; other slices are left alone.
constexpr std::string_view kSimulatedDriver = "sandbox.berth.dev/simulated-driver";

// Publishes the devices of the annotation kDevices, one pool per driver and node, as the controller of
// k8s.io/dynamic-resource-allocation v0.37 does: names, owner, the generation and number of the pool's
// slices. A slice that a client changes or deletes is restored after 30 s. A silent node publishes nothing;
// the slices of a deleted node are deleted. A malformed annotation changes nothing and is an event of the
// node. One thread.
class DeviceDrivers final : public StoreObserver {
 public:
  // Registers itself with the store and takes over existing nodes and slices.
  DeviceDrivers(Verbs& verbs, TimerQueue& timers, EventRecorder& events);
  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  using Outcome = WorkQueue::Outcome;
  Outcome Sync(const std::string& node);
  std::vector<ObjectPtr> SlicesOf(const std::string& node) const;
  // False: a write failed.
  bool Publish(const Object& node, const DevicePool& pool, const std::vector<ObjectPtr>& slices);
  bool Create(const Object& node, const DevicePool& pool, std::size_t index, const json::object& pool_fields);
  bool Update(const Object& slice, const json::object& content, const json::object& pool_fields);
  bool Remove(const std::vector<ObjectPtr>& slices);

  Verbs& verbs_;
  EventRecorder& events_;
  WorkQueue queue_;                                      // names of nodes
  std::map<std::string, std::set<std::string>> slices_;  // keys of simulated slices, by node
  bool writing_ = false;  // the changes that OnChange receives are those of Sync
};

}  // namespace berth::sandbox
