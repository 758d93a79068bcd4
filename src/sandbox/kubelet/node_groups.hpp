// Reads a file with the nodes of a cluster.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sandbox/kubelet/node_failure.hpp"

namespace berth::sandbox {

struct NodeImage {
  std::string name;
  std::int64_t bytes = 0;
};

// Identical nodes. Amounts are Kubernetes quantities.
struct NodeGroup {
  std::int64_t count = 1;
  std::string name = "node-####";  // # stands for a digit of the node's number in its group, from 1
  std::string cpu = "16", memory = "64Gi", ephemeral_storage = "200Gi";
  std::int64_t pods = 110;
  std::map<std::string, std::string> resources;    // extended ones: "nvidia.com/gpu": "8"
  std::map<std::string, std::string> allocatable;  // overrides capacity minus system reservations
  std::string instance_type;
  std::string region = "sandbox-1";
  std::vector<std::string> zones;  // assigned round-robin
  std::map<std::string, std::string> labels, annotations;
  struct Taint {
    std::string key, value, effect;
  };
  std::vector<Taint> taints;
  std::vector<NodeImage> images;
  std::vector<std::string> features;  // status.declaredFeatures
  std::string devices;                // the annotation kDevices (devices/device_groups.hpp); empty: none
  bool unschedulable = false;
  FailurePlan failures;
};

// Reads
//   groups:
//   - count: 3
//     name: worker-##
//     ...
// strictly: an error contains field and value, and the closest valid value where there is one.
Expected<std::vector<NodeGroup>> ParseNodeGroups(std::string_view text);

// "worker-07"
std::string NodeName(const NodeGroup& group, std::int64_t number);

}  // namespace berth::sandbox
