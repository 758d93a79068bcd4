// What the volume plugins have in common.
#pragma once

#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

// The dependency of a volume plugin's results. For a pod with volumes they depend on claims, volumes, storage
// classes and the volumes of other pods; for a pod without volumes they are the same for its whole shape.
inline framework::ResultDependency VolumeDependency(const cluster::PodInfo& pod) {
  return pod.use().has_volumes ? framework::ResultDependency::kEverything
                               : framework::ResultDependency::kNodes;
}

}  // namespace berth::plugins
