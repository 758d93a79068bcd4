// Names of cluster events for readers.
#pragma once

#include <string>

#include "scheduler/framework/cluster_event.hpp"

namespace berth::introspection {

// The kind and the changes for which a plugin is registered, in Kubernetes' names: "Node: Add,
// UpdateNodeTaint".
std::string DescribeEvent(const framework::ClusterEvent& event);

}  // namespace berth::introspection
