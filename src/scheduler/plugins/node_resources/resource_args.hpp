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

  ScoringStrategy strategy() const;  // of checked arguments
};

struct BalancedAllocationArgs {
  std::vector<WeightedResource> resources{{"cpu", 1}, {"memory", 1}};
};

// Read strictly, defaulted and validated. Errors are kube-scheduler's texts; those of NodeResourcesFit carry
// no path to the profile, since the original checks them when the plugin is built.
Expected<NodeResourcesFitArgs> ParseNodeResourcesFitArgs(const framework::RawArgs& args);
Expected<BalancedAllocationArgs> ParseBalancedAllocationArgs(const framework::RawArgs& args);
config::ArgsCodec NodeResourcesFitArgsCodec();
config::ArgsCodec BalancedAllocationArgsCodec();

}  // namespace berth::plugins
