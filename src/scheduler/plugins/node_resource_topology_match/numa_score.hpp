// Scores of a node by its NUMA zones (the strategies of scheduler-plugins v0.33.5).
#pragma once

#include <cstdint>
#include <span>

#include "scheduler/plugins/node_resource_topology_match/zone_amounts.hpp"

namespace berth::plugins {

enum class NumaStrategy : std::uint8_t {
  kLeastAllocated,
  kMostAllocated,
  kBalancedAllocation,
  kLeastNumaNodes
};

// The score of a guaranteed pod, from 0 to 100. `weights`: by resource of the request, at least 1. `amounts`
// are those of the node; they may change.
//
// LeastAllocated, MostAllocated, BalancedAllocation: 0 without the policy single-numa-node; else the lowest
// score of the zones that is not 0, with the scope "container" the mean of the containers' scores.
// LeastNUMANodes: the fewer zones are necessary, and the closer they are, the higher is the score. It is 0 if
// the zones do not suffice, and on nodes with more than NumaTopology::kMostCombined zones.
std::int64_t ScoreOfZones(NumaStrategy strategy, const NumaRequest& request,
                          std::span<const std::int64_t> weights, ZoneAmounts& amounts);

}  // namespace berth::plugins
