// What the resource plugins share: which column counts as used.
#pragma once

#include <cstdint>
#include <span>

#include "base/percent.hpp"
#include "scheduler/cluster/node_table.hpp"

namespace berth::plugins {

// Use with the defaults for containers that request nothing: cpu and memory have a column of their own for
// it.
inline std::span<const std::int64_t> NonZeroUse(const cluster::NodeTable& nodes,
                                                cluster::ResourceId resource) {
  if (resource == cluster::kCpu) return nodes.non_zero_cpu();
  if (resource == cluster::kMemory) return nodes.non_zero_memory();
  return nodes.requested(resource);
}

}  // namespace berth::plugins
