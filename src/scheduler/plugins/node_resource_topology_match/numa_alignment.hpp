// Whether the kubelet could align a pod under the policy single-numa-node.
#pragma once

#include <cstdint>
#include <optional>

#include "scheduler/cluster/node_table.hpp"
#include "scheduler/plugins/node_resource_topology_match/zone_amounts.hpp"

namespace berth::plugins {

enum class Misalignment : std::uint8_t { kNone, kContainer, kInitContainer, kSidecar, kPod };

// What cannot be aligned on a node.
struct AlignmentResult {
  Misalignment part = Misalignment::kNone;
  const NumaRequest::Container* container = nullptr;  // null: the pod as a whole
  // The first resource that no zone has left: an index of NumaRequest::resources.
  std::uint32_t resource = 0;
};

// With the scope "container" every container takes its amounts from one zone, the one with the lowest id:
// init containers and sidecars one after the other and for their time only, the others together. With the
// scope "pod" one zone has the amounts of the whole pod. `amounts` are those of the row; they change.
AlignmentResult Align(const NumaRequest& request, const cluster::NodeTable& nodes, cluster::Row row,
                      ZoneAmounts& amounts);

}  // namespace berth::plugins
