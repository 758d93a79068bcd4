// What the zones of one node have of the resources that a pod requests, as working memory of a decision.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/plugins/node_resource_topology_match/numa_request.hpp"
#include "scheduler/plugins/node_resource_topology_match/numa_topologies.hpp"

namespace berth::plugins {

// Filled for one node after the other; the memory is reused. Resources are those of the request, zones those
// of the topology, by index.
class ZoneAmounts {
 public:
  // Begins with a request. It and the groups of rows must stay unchanged while this object is used for it.
  void Begin(const NumaRequest& request);
  // Replaces the amounts by those of a row with a group.
  void Load(const RowTopology& row);

  const NumaTopology& topology() const { return *topology_; }
  std::size_t zones() const { return zones_; }
  // A bit by zone that lists the resource.
  std::uint64_t listed(std::uint32_t resource) const { return plan_->listed[resource]; }
  // In thousandths; 0 if the zone does not list the resource.
  std::int64_t& At(std::uint32_t resource, std::size_t zone) { return amounts_[resource * zones_ + zone]; }
  std::int64_t At(std::uint32_t resource, std::size_t zone) const {
    return amounts_[resource * zones_ + zone];
  }

 private:
  static constexpr std::uint32_t kUnlisted = UINT32_MAX;
  // Where a group has the resources of the request.
  struct Plan {
    std::uint64_t request = 0;           // number of the request for which it was made
    std::vector<std::uint32_t> sources;  // by resource of the request: that of the topology, or kUnlisted
    std::vector<std::uint64_t> listed;   // by resource of the request
  };
  const Plan& PlanOf(const TopologyGroup& group);

  const NumaRequest* request_ = nullptr;
  std::uint64_t requests_ = 0;
  std::vector<Plan> plans_;  // by index of the group
  const NumaTopology* topology_ = nullptr;
  const Plan* plan_ = nullptr;
  std::size_t zones_ = 0;
  std::vector<std::int64_t> amounts_;
};

}  // namespace berth::plugins
