// What a pod asks for, summed over its containers as kube-scheduler v1.37 does.
#pragma once

#include "kubernetes/api/objects.hpp"

namespace berth::api {

inline constexpr std::int64_t kDefaultMilliCpu = 100;             // per container without a cpu request
inline constexpr std::int64_t kDefaultMemoryBytes = 200LL << 20;  // per container without a memory request

struct RequestOptions {
  // Take the kubelet's view of an in-place resize into account: for pods that run, not for those that wait.
  bool use_status = false;
  // Count containers without cpu or memory request with the defaults above: for scores, not for fit.
  bool non_zero_defaults = false;
  // Let spec.resources (pod level) replace the sum over containers.
  bool pod_level = true;
};

// The sum as exact quantities; rounding happens once per pod, by whoever reads a value out of the result.
ResourceList PodRequests(const Pod& pod, const RequestOptions& options);

// What the containers alone come to, without pod level and overhead.
ResourceList ContainerRequests(const Pod& pod);
ResourceList ContainerLimits(const Pod& pod);
// cpu, memory, hugepages-*: what spec.resources can say for the pod as a whole.
bool IsPodLevelResource(std::string_view name);

// NodeInfo.NonZeroRequested's share of a pod: its use of cpu and memory with defaults where nothing is
// requested.
struct NonZeroUse {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
};
NonZeroUse NonZeroRequests(const Pod& pod);

// How a resource name takes part in scheduling.
enum class ResourceClass {
  kCpu,
  kMemory,
  kEphemeralStorage,
  kPods,
  kScalar,    // hugepages-*, attachable-volumes-*, names with "kubernetes.io/"
  kExtended,  // scalar, and subject to NodeResourcesFit's ignore lists
  kIgnored,   // everything else, "storage" for one
};
ResourceClass ClassOf(std::string_view resource);

}  // namespace berth::api
