// The devices of simulated nodes, as a nodes file or an annotation describes them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "config/value.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// Annotation of a node: its devices, as a JSON list with the entries that `devices` of a node group has. Its
// drivers publish them, and publish a new generation when the annotation changes.
constexpr std::string_view kDevices = "sandbox.berth.dev/devices";
constexpr std::string_view kGpuDriver = "gpu.example.com";

// Attribute of a device with binding conditions: its DeviceGroup::attach.
constexpr std::string_view kAttach = "sandbox.berth.dev/attach";
// Its binding condition and its binding failure condition.
constexpr std::string_view kAttached = "sandbox.berth.dev/attached";
constexpr std::string_view kAttachFailed = "sandbox.berth.dev/attach-failed";

// The part of a device that a claim can use by itself. It consumes its capacity from the counters of its
// device.
struct DevicePartition {
  std::int64_t count = 1;
  std::string name;                   // # stands for the number, from 0
  json::object attributes, capacity;  // in the form of a ResourceSlice
};

// Identical devices of one driver on one node.
struct DeviceGroup {
  std::int64_t count = 1;
  std::string driver{kGpuDriver};
  std::string name = "gpu-#";  // # stands for the number among the node's devices with this pattern, from 0
  json::object attributes, capacity;  // in the form of a ResourceSlice
  json::array taints;                 // without times
  bool shared = false;                // several claims may use a device, within its capacity
  // The devices have binding conditions: they are attached this long after an allocation ("2s"), "never", or
  // "fail". Empty: they have none.
  std::string attach;
  std::vector<DevicePartition> partitions;
};

// The pool of one driver on one node: what its slices contain, in their order.
struct DevicePool {
  std::string driver;
  std::vector<json::object> slices;  // each has `devices` or `sharedCounters`
};

// Reads a list of groups strictly. An error contains path, value and reason.
std::vector<DeviceGroup> ReadDeviceGroups(config::StructReader& parent, std::string_view field,
                                          const std::string& path, config::Problems& problems);
// Reads the annotation.
Expected<std::vector<DeviceGroup>> ParseDevices(std::string_view json_list);

// In the order of the groups' first devices. Every pool is valid for the API server.
std::vector<DevicePool> PoolsOf(std::span<const DeviceGroup> groups);

// The annotation of a node with `gpus` equal GPUs, half of them on each of two NUMA nodes.
std::string GpuDevices(std::int64_t gpus);

}  // namespace berth::sandbox
