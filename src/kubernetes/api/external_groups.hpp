// Objects of other projects, and of Kubernetes' own batch API, that describe groups of pods. Each is
// converted to the one form of a group that the scheduler has (pod_group.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "kubernetes/api/pod_group.hpp"

namespace berth::api {

// PodGroup of kubernetes-sigs/scheduler-plugins (v1alpha1). Its controller writes the status.
struct CoschedulingPodGroup {
  static constexpr std::string_view kKind = "PodGroup";
  static constexpr std::string_view kGroup = "scheduling.x-k8s.io";
  static constexpr std::string_view kSource = "podgroups.scheduling.x-k8s.io";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  std::int32_t min_member = 0;
  ResourceList min_resources;
  std::optional<std::int32_t> schedule_timeout_seconds;
};

// PodGroup of Volcano (v1beta1). Its queue is a name that decides nothing.
struct VolcanoPodGroup {
  static constexpr std::string_view kKind = "PodGroup";
  static constexpr std::string_view kGroup = "scheduling.volcano.sh";
  static constexpr std::string_view kSource = "podgroups.scheduling.volcano.sh";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  std::int32_t min_member = 0;
  std::vector<PodGroup::External::TaskMinimum> min_task_member;  // by name
  ResourceList min_resources;
};

// Job of batch/v1: its pods are a group without an object of its own.
struct Job {
  static constexpr std::string_view kKind = "Job";
  static constexpr std::string_view kGroup = "batch";
  static constexpr std::string_view kSource = "jobs.batch";
  static constexpr bool kNamespaced = true;
  ObjectMeta metadata;
  std::int32_t parallelism = 1;
  std::optional<std::int32_t> completions;  // nullopt: until one pod succeeds
  std::int32_t succeeded = 0;               // status.succeeded
};

using ExternalGroupKinds = KindList<CoschedulingPodGroup, VolcanoPodGroup, Job>;

// The number of members that must be scheduled together: on pods of groups without an object, and on Jobs of
// which fewer pods than run at the same time must start together.
inline constexpr std::string_view kMinMembersAnnotation = "scheduling.berth.dev/min-members";
struct MinMembers {
  std::optional<std::int32_t> count;  // nullopt: no annotation, or an invalid one
  std::string invalid;                // why it is invalid
};
MinMembers ReadMinMembers(const ObjectMeta& meta);

// Each task and each resource of minResources is tested in every attempt of the group, so more are an error.
inline constexpr std::size_t kMaxGroupEntries = 64;
// Names of objects, tasks and resources are not longer.
inline constexpr std::size_t kMaxNameLength = 253;

// "<source>/<name>", which no object of scheduling.k8s.io can have as its name.
std::string QualifiedGroupName(std::string_view source, std::string_view name);

PodGroupPtr ToPodGroup(const CoschedulingPodGroup& group);
PodGroupPtr ToPodGroup(const VolcanoPodGroup& group);
// As many pods as run at the same time: parallelism, or the completions that are left if these are fewer, or
// kMinMembersAnnotation of the Job.
PodGroupPtr ToPodGroup(const Job& job);
// Whether the scheduler would treat both alike, so that an update from one to the other need not be
// delivered.
bool SameExternalGroup(const PodGroup& a, const PodGroup& b);

}  // namespace berth::api
