// The devices that each node can use: resource slices grouped to pools, with taint rules applied, as in
// kube-scheduler v1.37.1 (dynamic-resource-allocation/structured: GatherPools).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/row_set.hpp"
#include "base/text_map.hpp"
#include "kubernetes/api/devices.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/devices/allocated_devices.hpp"

namespace berth::devices {

// The gates of v1.37.1 that the inventory and the allocator depend on. Gates that add a kind of allocation
// which Berth does not implement (DRANodeAllocatableResources, DRAListTypeAttributes, DRADerivedAttributes,
// DRADeviceCompatibilityGroups, DRAOptionalNodeOperations) count as off.
struct Features {
  bool admin_access = true;
  bool prioritized_list = true;
  bool partitionable_devices = true;
  bool device_taints = true;
  bool device_taint_rules = true;
  bool binding_conditions = true;  // DRADeviceBindingConditions and DRAResourceClaimDeviceStatus
  bool consumable_capacity = true;
  bool fractional_capacity_range = true;
  bool extended_resources = true;
};

// A device of a slice. Belongs to its slice.
struct SliceDevice {
  const api::Device* device = nullptr;
  DeviceId id;
  // Equal for devices that differ at most in name and in the nodes that can use them, of one driver.
  // Selectors, taints, counters and capacities cannot tell such devices apart.
  std::uint64_t shape = 0;
  std::vector<api::DeviceTaint> taints;  // of the device, then those of rules
};

// A resource slice and its devices, in the order of the object.
struct Slice {
  std::shared_ptr<const api::ResourceSlice> object;
  std::vector<SliceDevice> devices;
};

// Amounts by counter set and counter.
using Counters = std::map<std::string, api::QuantityMap, std::less<>>;

// A pool as one node sees it.
struct NodePool {
  std::string driver;
  std::string pool;
  // Some slices have not been published yet: nothing is allocated from the pool.
  bool incomplete = false;
  // Contradictory, for example two devices of one name: nothing is allocated from the pool.
  bool invalid = false;
  // The slices with devices for the node, by name.
  std::vector<const Slice*> slices;
  // By slice; empty if all devices of the slice can be used on the node. Else whether a device can.
  std::vector<std::vector<bool>> usable;
  Counters counters;  // the pool's shared counters
  Counters consumed;  // what allocated devices of the pool consume of them, also those of other nodes

  bool IsUsable(std::size_t slice, std::size_t device) const {
    return usable[slice].empty() || usable[slice][device];
  }
};

// The pools that a node can use, in the order in which devices are tried.
struct NodeDevices {
  std::vector<NodePool> pools;
  // Equal for nodes on which every request gets the same answer: their pools have devices of equal shapes in
  // the same order and in the same state of use.
  std::uint64_t picture = 0;
};

// Follows slices, taint rules, nodes and allocations. What depends on a changed object is computed again when
// it is read. Scheduler loop only.
class DeviceInventory {
 public:
  // The arguments must outlive the inventory. Listens to `objects` and becomes the listener of `allocated`.
  DeviceInventory(const Features& features, cluster::ClusterObjects& objects, cluster::SymbolTable& symbols,
                  AllocatedDevices& allocated);
  ~DeviceInventory();

  // The devices of a node. An error means that a slice is unusable for every pod, with kube-scheduler's text.
  // Valid until a slice, a rule, an allocation or the node changes.
  const Expected<NodeDevices>& Of(const cluster::NodeTable& nodes, cluster::Row row);

  // Calls visit(driver, device) for the devices that NodeResourcesFit counts on a node. As in kube-scheduler
  // these are more than Of returns: generations, incomplete and invalid pools make no difference, and slices
  // without any selection of nodes count everywhere. An error: a node selector is invalid.
  using VisitDevice = std::function<void(std::string_view driver, const SliceDevice& device)>;
  Expected<void> ForEachCounted(const cluster::NodeTable& nodes, cluster::Row row, const VisitDevice& visit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::devices
