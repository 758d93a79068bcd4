// The resource requests of a pod, summed over its containers as in kube-scheduler v1.37.
#pragma once

#include "kubernetes/api/objects.hpp"

namespace berth::api {

inline constexpr std::int64_t kDefaultMilliCpu = 100;             // per container without a cpu request
inline constexpr std::int64_t kDefaultMemoryBytes = 200LL << 20;  // per container without a memory request

struct RequestOptions {
  // Include the kubelet's view of an in-place resize: for running pods, not for pending ones.
  bool use_status = false;
  // Count the defaults above for containers without cpu or memory request: for scores, not for fit.
  bool non_zero_defaults = false;
  // spec.resources (pod level) replaces the sum over containers.
  bool pod_level = true;
  // Only these names are needed (amounts are not read); further ones may be in the result. Null: all.
  const ResourceList* only = nullptr;
};

// The sum as exact quantities. The caller rounds once per pod, when it reads a value from the result.
ResourceList PodRequests(const Pod& pod, const RequestOptions& options);

// The sums over the containers, without pod-level resources and overhead.
ResourceList ContainerRequests(const Pod& pod);
ResourceList ContainerLimits(const Pod& pod);
// Whether spec.resources may specify the resource for the whole pod: cpu, memory, hugepages-*.
bool IsPodLevelResource(std::string_view name);

// A pod's contribution to NodeInfo.NonZeroRequested: cpu and memory, with defaults where nothing is
// requested.
struct NonZeroUse {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
};
NonZeroUse NonZeroRequests(const Pod& pod);

// The role of a resource name in scheduling.
enum class ResourceClass {
  kCpu,
  kMemory,
  kEphemeralStorage,
  kPods,
  kScalar,    // hugepages-*, attachable-volumes-*, names with "kubernetes.io/"
  kExtended,  // scalar, and subject to NodeResourcesFit's ignore lists
  kIgnored,   // everything else, for example "storage"
};
ResourceClass ClassOf(std::string_view resource);

}  // namespace berth::api
