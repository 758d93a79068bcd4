// A file that says which nodes there are.
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

// Nodes that are alike. Amounts are quantities as Kubernetes writes them.
struct NodeGroup {
  std::int64_t count = 1;
  std::string name = "node-####";  // # stands for a digit of the node's number in its group, from 1
  std::string cpu = "16", memory = "64Gi", ephemeral_storage = "200Gi";
  std::int64_t pods = 110;
  std::map<std::string, std::string> resources;    // extended ones: "nvidia.com/gpu": "8"
  std::map<std::string, std::string> allocatable;  // in place of capacity less what the system keeps
  std::string instance_type;
  std::string region = "sandbox-1";
  std::vector<std::string> zones;  // dealt out in turn
  std::map<std::string, std::string> labels, annotations;
  struct Taint {
    std::string key, value, effect;
  };
  std::vector<Taint> taints;
  std::vector<NodeImage> images;
  std::vector<std::string> features;  // status.declaredFeatures
  bool unschedulable = false;
  FailurePlan failures;
};

// Reads
//   groups:
//   - count: 3
//     name: worker-##
//     ...
// strictly: an error names field and value, and the nearest right answer where there is one.
Expected<std::vector<NodeGroup>> ParseNodeGroups(std::string_view text);

// "worker-07"
std::string NodeName(const NodeGroup& group, std::int64_t number);

}  // namespace berth::sandbox
