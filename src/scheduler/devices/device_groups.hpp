// Groups of devices that are interchangeable in a search: if one of them does not lead to a solution, the
// others do not either.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/devices/inventory.hpp"

namespace berth::devices {

// What a search depends on in a device. Refers to the pool and to the device.
struct DeviceProfile {
  const NodePool* pool = nullptr;
  const SliceDevice* device = nullptr;
  const AllocatedDevices::Use* use = nullptr;
  bool usable = true;                                   // on the node
  std::vector<bool> selectable;                         // by request or alternative
  std::vector<const api::DeviceAttribute*> attributes;  // by constraint; null: the device lacks it
};

class DeviceGroups {
 public:
  // Puts the device into the first group with an equal profile, or into a new one.
  void Add(DeviceProfile profile);
  // Null: the device was not added.
  std::optional<std::uint32_t> Of(DeviceId device) const;
  std::size_t devices() const { return group_of_.size(); }
  std::size_t size() const { return first_.size(); }

 private:
  std::vector<DeviceProfile> first_;  // the first device of each group
  boost::unordered_flat_map<DeviceId, std::uint32_t> group_of_;
};

}  // namespace berth::devices
