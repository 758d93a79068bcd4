// Places pods on nodes whose NUMA zones have what the kubelet must align: scheduler-plugins'
// NodeResourceTopologyMatch (v0.33.5). Off by default.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/rejection_details.hpp"
#include "scheduler/plugins/node_resource_topology_match/topology_cache.hpp"
#include "scheduler/plugins/node_resource_topology_match/topology_match_args.hpp"

namespace berth::plugins {

// Filter rejects nodes with the policy single-numa-node on which the kubelet could not align the pod
// (numa_alignment.hpp), nodes with a stale topology (TopologyCache), and nodes whose NodeResourceTopology
// exceeds a bound. Nodes without the object, and best-effort pods without devices, pass. Score is that of
// numa_score.hpp for guaranteed pods, 0 for them on nodes without a valid topology, and 100 for all other
// pods. Without the resource in the cluster no node has a topology. Differences from scheduler-plugins:
// docs/guide/numa.md.
class NodeResourceTopologyMatch final : public framework::FilterPlugin,
                                        public framework::ScorePlugin,
                                        public framework::ReservePlugin,
                                        public framework::PostBindPlugin,
                                        public framework::RejectionDetailsPlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  NodeResourceTopologyMatch(NodeResourceTopologyMatchArgs args, const std::string& profile,
                            framework::Handle& handle);

  std::string_view Name() const override { return "NodeResourceTopologyMatch"; }
  // Topologies follow from their objects; the ids of names and the indices of groups, which do not, have no
  // influence on results. A reservation ends with PostBind or Unreserve, and a snapshot is taken when no
  // attempt and no binding is in progress, so that there is none.
  bool StateIsDerived() const override { return true; }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  // A change of a topology or of a reservation invalidates the row.
  framework::ResultDependency FilterDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kRow;
  }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::ResultDependency ScoreDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kRow;
  }
  framework::Normalization normalization() const override { return framework::Normalization::kNone; }
  framework::Status Reserve(const framework::Placement& placement) override;
  void Unreserve(const framework::Placement& placement) override;
  void PostBind(const framework::Placement& placement) override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;
  // What cannot be aligned, and what the zones have of it.
  std::vector<framework::RejectionDetail> RejectionDetails(const framework::Attempt& attempt,
                                                           const RowSet& rejected) const override;

 private:
  struct Scratch {
    NumaRequest request;
    ZoneAmounts amounts;
    std::vector<std::int64_t> weights;  // by resource of the request
  };
  Scratch& Begin(const framework::Attempt& attempt) const;
  void FillWeights(Scratch& scratch) const;

  const NodeResourceTopologyMatchArgs args_;
  const NumaStrategy strategy_;
  const std::unique_ptr<TopologyCache> cache_;
  const framework::BufferKey<Scratch> scratch_;
  const framework::ReasonId stale_, container_, init_container_, sidecar_, pod_;
};

}  // namespace berth::plugins
