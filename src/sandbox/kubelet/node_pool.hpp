// The nodes of a simulated cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/kubelet/node_groups.hpp"

namespace berth::sandbox {

// One kind of machine.
struct MachineShape {
  std::string name;  // label node.kubernetes.io/instance-type
  std::int64_t cpus = 16;
  std::int64_t memory_gib = 64;
  std::int64_t ephemeral_gib = 200;
  std::int64_t pods = 110;
  std::int64_t gpus = 0;  // nodes with GPUs carry the taint nvidia.com/gpu, as in GPU clouds
};

struct NodePoolOptions {
  std::size_t nodes = 0;
  std::size_t gpu_nodes = 0;  // besides `nodes`
  // GPUs are devices for resource claims; the class gpu.example.com also provides the extended resource
  // nvidia.com/gpu. False: the nodes offer the extended resource, as with a device plugin.
  bool gpu_claims = false;
  std::size_t zones = 3;
  std::string region = "sandbox-1";
  // Shapes and zones are assigned round-robin.
  std::vector<MachineShape> shapes = {{.name = "standard-8", .cpus = 8, .memory_gib = 32},
                                      {.name = "standard-16", .cpus = 16, .memory_gib = 64},
                                      {.name = "standard-32", .cpus = 32, .memory_gib = 128}};
  MachineShape gpu_shape = {.name = "gpu-8", .cpus = 64, .memory_gib = 512, .ephemeral_gib = 1000, .gpus = 8};
  FailurePlan failures;  // of each of these nodes
  // Additional nodes, from a file.
  std::vector<NodeGroup> groups;
};

// Creates Ready nodes with their leases: node-0001 ..., gpu-0001 ...; zone <region>a, <region>b ... Fails if
// the names are taken. Adds random failures to the schedule, if there is one. Creates a DeviceClass for each
// driver of their devices, with the name of the driver, unless it exists.
ApiResult<> CreateNodes(Verbs& verbs, Random& random, const NodePoolOptions& options,
                        FailureSchedule* failures = nullptr);

// The heartbeat lease of a node, in kube-node-lease.
json::object NodeLease(std::string_view node, std::string_view node_uid, WallTime now);

// The conditions of a healthy node, without the time.
json::array HealthyConditions(WallTime now);

}  // namespace berth::sandbox
