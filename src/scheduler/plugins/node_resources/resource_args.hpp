// NodeResourcesFitArgs and NodeResourcesBalancedAllocationArgs (kubescheduler.config.k8s.io/v1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/framework/factory.hpp"
#include "scheduler/plugins/node_resources/shape.hpp"

namespace berth::plugins {

struct WeightedResource {
  std::string name;
  std::int64_t weight = 1;
};

enum class ScoringStrategy { kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio };

struct NodeResourcesFitArgs {
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;
  std::string strategy_type = "LeastAllocated";
  std::vector<WeightedResource> resources{{"cpu", 1}, {"memory", 1}};
  bool has_ratio = false;         // requestedToCapacityRatio is given
  std::vector<ShapePoint> shape;  // kRequestedToCapacityRatio only

  ScoringStrategy strategy() const;  // requires valid arguments
};

struct BalancedAllocationArgs {
  std::vector<WeightedResource> resources{{"cpu", 1}, {"memory", 1}};
};

// Decoded strictly, defaulted and validated. Error texts are kube-scheduler's. Those of NodeResourcesFit do
// not contain the path to the profile, because kube-scheduler validates them when it creates the plugin.
Expected<NodeResourcesFitArgs> ParseNodeResourcesFitArgs(const framework::RawArgs& args);
Expected<BalancedAllocationArgs> ParseBalancedAllocationArgs(const framework::RawArgs& args);
config::ArgsCodec NodeResourcesFitArgsCodec();
config::ArgsCodec BalancedAllocationArgsCodec();

}  // namespace berth::plugins
