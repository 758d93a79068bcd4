// What the nodes have free for a group of pods.
#pragma once

#include <string>

#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::plugins {

// The resources in `wanted` that exceed what is free in the whole cluster, as "cpu: 4 (free: 1500m), ...";
// empty if none does. Free is what the pods on the nodes do not request; pods of the group, which
// count as part of `wanted`, and overcommitted nodes request nothing here. Takes time proportional to the
// number of nodes and scheduled members, per resource.
std::string MissingResources(const api::ResourceList& wanted, const cluster::PodGroups::Group& group,
                             const framework::Handle& handle);

}  // namespace berth::plugins
