// What is common to the plugins that are about volumes.
#pragma once

#include "framework/plugin.hpp"

namespace berth::framework {

// What their answers hang on: claims, volumes, classes and other pods' volumes, for a pod that has volumes;
// of one without they say the same as of every other pod of its shape.
inline Basis VolumeBasis(const PodInfo& pod) {
  return pod.use().has_volumes ? Basis::kEverything : Basis::kNodes;
}

}  // namespace berth::framework
