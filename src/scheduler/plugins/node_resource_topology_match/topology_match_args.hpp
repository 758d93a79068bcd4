// Arguments of NodeResourceTopologyMatch: those of scheduler-plugins v0.33.5.
//
//   scoringStrategy:
//     type: LeastAllocated   # MostAllocated, BalancedAllocation, LeastNUMANodes
//     resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]
//   discardReservedNodes: false
//   cacheResyncPeriodSeconds: 0
//   cache: {foreignPodsDetect: All, resyncMethod: Autodetect, informerMode: Dedicated, resyncScope: All}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/framework/factory.hpp"
#include "scheduler/plugins/node_resource_topology_match/numa_score.hpp"

namespace berth::plugins {

struct NodeResourceTopologyMatchArgs {
  struct Weight {
    std::string name;
    std::int64_t weight = 1;  // values below 1 count as 1
  };
  static constexpr std::int64_t kHighestWeight = 1'000'000;
  static constexpr std::size_t kMostWeights = 64;

  std::string strategy = "LeastAllocated";
  std::vector<Weight> weights{{"cpu", 1}, {"memory", 1}};  // resources that are not listed have weight 1
  bool discard_reserved_nodes = false;
  std::int64_t resync_seconds = 0;
  // These have an effect only with a resync period.
  std::string foreign_pods = "All";
  std::string resync_method = "Autodetect";
  std::string informer_mode = "Dedicated";
  std::string resync_scope = "All";

  NumaStrategy strategy_type() const;  // requires valid arguments
};

// Decoded strictly, completed with defaults and validated.
Expected<NodeResourceTopologyMatchArgs> ParseNodeResourceTopologyMatchArgs(const framework::RawArgs& args);
config::ArgsCodec NodeResourceTopologyMatchArgsCodec();

}  // namespace berth::plugins
