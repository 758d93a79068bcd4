// Rejects nodes whose free resources do not cover the pod's requests, and scores the others by utilization.
// An extended resource that a DeviceClass provides is left to DynamicResources on nodes that do not offer it
// (devices/extended_resources.hpp).
#pragma once

#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/node_resources/device_columns.hpp"
#include "scheduler/plugins/node_resources/resource_args.hpp"
#include "scheduler/plugins/node_resources/resource_kernels.hpp"

namespace berth::plugins {

class NodeResourcesFit final : public framework::PreFilterPlugin,
                               public framework::FilterPlugin,
                               public framework::PreScorePlugin,
                               public framework::ScorePlugin,
                               public framework::PlacementScorePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& args, framework::Handle& handle);
  NodeResourcesFit(const NodeResourcesFitArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "NodeResourcesFit"; }
  bool StateIsDerived() const override { return true; }
  framework::PreFilterResult PreFilter(const framework::Attempt&) const override { return {}; }
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  framework::ResultDependency FilterDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kRow;
  }
  framework::Status PreScore(const framework::Attempt&, const RowSet&) const override { return {}; }
  framework::ResultDependency PreScoreDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::ResultDependency ScoreDependency(const cluster::PodInfo& pod) const override {
    return devices_.ProvidesAny(pod.score(), resource_ids_) ? framework::ResultDependency::kEverything
                                                            : framework::ResultDependency::kRow;
  }
  framework::Normalization normalization() const override { return framework::Normalization::kNone; }
  // The utilization of the placement as a whole with the members on it, whatever the scoring strategy.
  Expected<std::int64_t> ScorePlacement(const api::PodGroup& group, const cluster::NodeTable& nodes,
                                        const framework::FeasiblePlacement& placement) const override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  struct Resource {
    cluster::ResourceId id;
    std::int64_t weight = 1;
  };
  // One resource request of the pod, with the node columns of the resource.
  struct RequestedAmount {
    cluster::ResourceId resource;
    std::int64_t request = 0;
    std::span<const std::int64_t> allocatable;  // empty: no node has it
    std::span<const std::int64_t> requested;
    bool by_class = false;  // a DeviceClass provides the resource on nodes that do not offer it

    bool IsOffered(std::size_t row) const { return !allocatable.empty() && allocatable[row] > 0; }
    bool FitsOn(std::size_t row) const;
  };
  std::span<const RequestedAmount> CollectRequests(const framework::Attempt& attempt) const;
  void AddLacking(const framework::Attempt& attempt, const RequestedAmount& amount, const RowSet& candidates,
                  framework::Rejections& out) const;
  bool IsByClass(cluster::ResourceId resource) const;
  bool FitsEmpty(const cluster::PodInfo& pod, const api::Node& node) const;
  bool OffersMore(const cluster::PodInfo& pod, const api::Node& before, const api::Node& after) const;
  bool Ignored(cluster::ResourceId resource, const cluster::SymbolTable& words) const;
  void ScoreRows(std::span<const ResourceAxis> axes, const RowSet& rows,
                 std::span<std::int64_t> values) const;
  std::int64_t Points(std::int64_t requested, std::int64_t capacity) const;
  framework::ReasonId InsufficientReason(cluster::ResourceId resource,
                                         const cluster::SymbolTable& words) const;
  // Reasons are kept until the process ends, and pods can name any number of resources: beyond kMaxReasons
  // all resources that no node ever had share one reason.
  framework::ReasonId ReasonOfAbsent(const std::string& text) const;
  static constexpr std::size_t kMaxReasons = 16'384;

  const cluster::SymbolTable& symbols_;
  const devices::ClusterDevices& cluster_devices_;
  const DeviceColumns devices_;
  framework::Reasons& reasons_;
  framework::ReasonId too_many_pods_;
  const std::unique_ptr<std::vector<framework::ReasonId>> insufficient_;  // by ResourceId, created on demand
  std::vector<std::string> ignored_resources_;
  std::vector<std::string> ignored_groups_;
  ScoringStrategy strategy_;
  std::vector<Resource> resources_;  // resources known to scheduling; others do not contribute
  std::vector<cluster::ResourceId> resource_ids_;
  std::vector<ShapePoint> shape_;  // scores scaled to 0..100
  const framework::BufferKey<std::vector<RequestedAmount>> amounts_;
  const framework::BufferKey<std::vector<ResourceAxis>> axes_;
};

}  // namespace berth::plugins
