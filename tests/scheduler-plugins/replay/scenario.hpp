// A recorded scenario: measurements, nodes, pods, and the scores of the real plugin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::replay {

struct NodeWithPods {
  api::Node node;
  std::vector<api::Pod> pods;
};

struct Scenario {
  std::uint64_t seed = 0;
  std::string plugin;
  yaml::Value args;
  std::string watcher;      // the response of load-watcher
  std::int64_t placed = 0;  // Unix seconds at which the pods of the nodes were placed
  std::vector<NodeWithPods> nodes;
  std::vector<api::Pod> pods;
  std::vector<std::vector<std::int64_t>> scores;  // by pod and node
};

// Throws std::runtime_error if the line is malformed.
Scenario ParseScenario(std::string_view line);

}  // namespace berth::replay
