// The objects that the operations of a test create, as scheduler_perf composes them.
#pragma once

#include <string>

#include "base/result.hpp"
#include "base/yaml.hpp"
#include "tools/scheduler_perf/operations.hpp"

namespace berth::scheduler_perf {

// `number`: of the nodes that exist; part of a name that the template does not give.
Expected<yaml::Value> NodeManifest(const CreateNodes& operation, std::size_t index, std::uint64_t number);
// The CSINode of a node strategy. `node`: with its name. The amounts of the strategy for the node itself have
// no effect in scheduler_perf: it writes them beside the status, which an API server ignores.
yaml::Value CsiNodeManifest(const CreateNodes& operation, const yaml::Value& node);
Expected<yaml::Value> NamespaceManifest(const CreateNamespaces& operation, const std::string& name);

// Without the claim of a volume.
Expected<yaml::Value> PodManifest(const CreatePods& operation, std::size_t index, std::size_t count);
struct VolumeManifests {
  yaml::Value volume, claim;  // bound to each other
};
// Requires templates of both.
Expected<VolumeManifests> ManifestsOfVolume(const CreatePods& operation, std::size_t index);
// Replaces the volumes of the pod by the claim with this index.
void UseClaim(yaml::Value& pod, std::size_t index);

// A pod that makes the scheduler allocate the claim.
yaml::Value AllocatingPodManifest(const std::string& scheduler, const std::string& claim,
                                  const api::Labels& labels);

}  // namespace berth::scheduler_perf
