// What is common to the plugins that are about volumes.
#pragma once

#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

// What their answers hang on: claims, volumes, classes and other pods' volumes, for a pod that has volumes;
// of one without they say the same as of every other pod of its shape.
inline framework::ResultDependency VolumeDependency(const cluster::PodInfo& pod) {
  return pod.use().has_volumes ? framework::ResultDependency::kEverything : framework::ResultDependency::kNodes;
}

}  // namespace berth::plugins
