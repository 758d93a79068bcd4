// The devices of a cluster and their use, shared by the plugins of all profiles.
#pragma once

#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/devices/allocated_devices.hpp"
#include "scheduler/devices/extended_resources.hpp"
#include "scheduler/devices/inventory.hpp"

namespace berth::devices {

// Follows `objects`, which must outlive it, as must `symbols` and `nodes`. Scheduler loop only.
class ClusterDevices {
 public:
  ClusterDevices(const Features& features, cluster::ClusterObjects& objects, cluster::SymbolTable& symbols,
                 cluster::NodeTable& nodes)
      : features_(features),
        allocated_(features.consumable_capacity),
        inventory_(features_, objects, symbols, allocated_),
        extended_(features.extended_resources, objects, symbols, nodes) {
    objects.Of<api::ResourceClaim>().Listen([this](const auto& change) { allocated_.Apply(change); });
  }

  const Features& features() const { return features_; }
  AllocatedDevices& allocated() { return allocated_; }
  DeviceInventory& inventory() { return inventory_; }
  const ExtendedResources& extended() const { return extended_; }

 private:
  const Features features_;
  AllocatedDevices allocated_;
  DeviceInventory inventory_;
  ExtendedResources extended_;
};

}  // namespace berth::devices
