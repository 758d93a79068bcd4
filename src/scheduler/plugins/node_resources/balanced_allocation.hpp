// Prefers nodes whose resources would be used evenly, such as CPU and memory.
#pragma once

#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/node_resources/device_columns.hpp"
#include "scheduler/plugins/node_resources/resource_args.hpp"
#include "scheduler/plugins/node_resources/resource_kernels.hpp"

namespace berth::plugins {

class NodeResourcesBalancedAllocation final : public framework::PreScorePlugin,
                                              public framework::ScorePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& args, framework::Handle& handle);
  NodeResourcesBalancedAllocation(const BalancedAllocationArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "NodeResourcesBalancedAllocation"; }
  bool StateIsDerived() const override { return true; }
  framework::Status PreScore(const framework::Attempt& attempt, const RowSet& feasible) const override;
  framework::ResultDependency PreScoreDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::ResultDependency ScoreDependency(const cluster::PodInfo& pod) const override {
    return devices_.ProvidesAny(pod.use().requested, resources_) ? framework::ResultDependency::kEverything
                                                                 : framework::ResultDependency::kRow;
  }
  framework::Normalization normalization() const override { return framework::Normalization::kNone; }

 private:
  bool RequestsAny(const cluster::PodInfo& pod) const;

  const DeviceColumns devices_;
  std::vector<cluster::ResourceId> resources_;
  // Configured resources without a column ("storage"); a pod may still request them.
  std::vector<std::string> uncounted_;
  const framework::BufferKey<std::vector<ResourceAxis>> axes_;
};

}  // namespace berth::plugins
