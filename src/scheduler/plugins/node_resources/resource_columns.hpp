// The columns of used resources, shared by the resource plugins.
#pragma once

#include <cstdint>
#include <span>

#include "base/percent.hpp"
#include "scheduler/cluster/node_table.hpp"

namespace berth::plugins {

// Requests with defaults for containers without a request: cpu and memory have separate columns for it.
inline std::span<const std::int64_t> NonZeroUse(const cluster::NodeTable& nodes,
                                                cluster::ResourceId resource) {
  if (resource == cluster::kCpu) return nodes.non_zero_cpu();
  if (resource == cluster::kMemory) return nodes.non_zero_memory();
  return nodes.requested(resource);
}

}  // namespace berth::plugins
