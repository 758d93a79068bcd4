// What the zones of one node have of the resources that a pod requests, as working memory of a decision.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/cluster/node_table.hpp"
#include "scheduler/plugins/node_resource_topology_match/numa_request.hpp"
#include "scheduler/plugins/node_resource_topology_match/numa_topology.hpp"

namespace berth::plugins {

// Filled for one node after the other; the memory is reused. Resources are those of the request, zones those
// of the topology, by index.
class ZoneAmounts {
 public:
  // The topology must outlive the use of this object. A resource that no zone lists has no amounts.
  void Load(const NumaRequest& request, const NumaTopology& topology);

  const NumaTopology& topology() const { return *topology_; }
  std::size_t zones() const { return topology_->zones(); }
  // A bit by zone that lists the resource.
  std::uint64_t listed(std::uint32_t resource) const { return listed_[resource]; }
  // In thousandths; 0 if the zone does not list the resource.
  std::int64_t& At(std::uint32_t resource, std::size_t zone) { return amounts_[resource * zones() + zone]; }
  std::int64_t At(std::uint32_t resource, std::size_t zone) const {
    return amounts_[resource * zones() + zone];
  }

 private:
  const NumaTopology* topology_ = nullptr;
  std::vector<std::uint64_t> listed_;
  std::vector<std::int64_t> amounts_;
};

}  // namespace berth::plugins
