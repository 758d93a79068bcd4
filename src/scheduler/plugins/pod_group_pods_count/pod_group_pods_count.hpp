// Prefers placements with room for more members of a pod group (kube-scheduler v1.37.1,
// pkg/scheduler/framework/plugins/podgrouppodscount; feature gate TopologyAwareWorkloadScheduling, off by
// default).
#pragma once

#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::plugins {

// The number of members with a node, those that are scheduled already included, as a share of the largest.
class PodGroupPodsCount final : public framework::PlacementScorePlugin {
 public:
  explicit PodGroupPodsCount(framework::Handle& handle) : groups_(handle.groups) {}

  std::string_view Name() const override { return "PodGroupPodsCount"; }
  bool StateIsDerived() const override { return true; }
  Expected<std::int64_t> ScorePlacement(const api::PodGroup& group, const cluster::NodeTable& nodes,
                                        const framework::FeasiblePlacement& placement) const override;
  framework::Status NormalizePlacementScores(std::span<std::int64_t> scores) const override;

 private:
  const cluster::PodGroups& groups_;
};

}  // namespace berth::plugins
