// Explanations of rejected nodes.
#pragma once

#include <string>
#include <vector>

#include "scheduler/plugins/node_resource_topology_match/numa_alignment.hpp"

namespace berth::plugins {

// What the container or pod requests, and what each zone has left of it: "container app requests 4 cpu, 2Gi
// memory; no NUMA zone has all of it", "node-0 has 2 cpu, 8Gi memory". `amounts`: as Align left them.
std::vector<std::string> DescribeMisalignment(const AlignmentResult& result, const NumaRequest& request,
                                              const ZoneAmounts& amounts);

}  // namespace berth::plugins
