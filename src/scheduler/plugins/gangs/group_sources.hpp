// The groups of other projects: which group a pod belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/cluster/pod_groups.hpp"

namespace berth::plugins {

// The names of sources, the pods that belong to a group, and its name:
//   Coscheduling  label scheduling.x-k8s.io/pod-group       "podgroups.scheduling.x-k8s.io/<label>"
//   Volcano       annotation scheduling.k8s.io/group-name   "podgroups.scheduling.volcano.sh/<annotation>"
//   Job           owned by a Job of batch/v1                "jobs.batch/<job>"
//   Spark         label spark-role=executor                 "spark/<label spark-app-selector>"
//   Flink         TaskManagers of native Kubernetes         "flink/<label app>"
//   Annotation    annotation scheduling.berth.dev/group     "group/<annotation>"
// The first three have an object at the API server. The others are described by the member that arrives
// first, with the annotation api::kMinMembersAnnotation: required for Annotation; without it, Spark and Flink
// place members one by one.
class GroupSources final : public cluster::ExternalGrouping {
 public:
  // `names`: as in Names. Only pods of this scheduler have a group.
  GroupSources(std::span<const std::string> names, std::string scheduler_name);

  static std::vector<std::string> Names();
  // The annotations of pods that these sources read.
  std::vector<std::string> Annotations() const;
  // The resources that they read.
  std::vector<std::string> Resources() const;

  std::optional<std::string> GroupOf(const api::Pod& pod) const override;
  api::PodGroupPtr Describe(const std::string& key, const api::Pod& member) const override;
  std::string TaskOf(const api::Pod& pod) const override;

 private:
  struct Source;
  static const std::array<Source, 6> kSources;
  static const Source& SourceNamed(std::string_view name);

  std::vector<const Source*> sources_;
  const std::string scheduler_name_;
};

}  // namespace berth::plugins
