// The compiled topologies of nodes, by row.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/plugins/node_resource_topology_match/numa_topology.hpp"

namespace berth::plugins {

// Follows the nodes of the table; topologies of nodes that do not exist (yet) are kept. A change invalidates
// the results of the node's row. Scheduler loop only.
class NumaTopologies final : public cluster::PodObserver {
 public:
  // The table must outlive this object.
  explicit NumaTopologies(cluster::NodeTable& nodes);
  ~NumaTopologies() override;
  NumaTopologies(const NumaTopologies&) = delete;
  NumaTopologies& operator=(const NumaTopologies&) = delete;

  NumaResourceNames& names() { return names_; }
  const NumaResourceNames& names() const { return names_; }
  // By row; null: the node has no topology.
  std::span<const NumaTopology* const> by_row() const { return by_row_; }
  // Null: the node has no topology.
  const NumaTopology* Find(const std::string& node) const;
  // The row of this node; kNoRow: it does not exist.
  cluster::Row RowOf(const std::string& node) const;

  // Replaces the topology, which was compiled with names().
  void Set(const std::string& node, NumaTopology topology);
  void Remove(const std::string& node);

 private:
  void OnPodAdded(cluster::Row, const cluster::PlacedPod&) override {}
  void OnPodRemoved(cluster::Row, const cluster::PlacedPod&) override {}
  void OnNodeAdded(cluster::Row row) override;
  void OnNodeRemoved(cluster::Row row) override;
  void Show(const std::string& node, const NumaTopology* topology);

  cluster::NodeTable& nodes_;
  NumaResourceNames names_;
  TextMap<NumaTopology> by_node_;
  std::vector<const NumaTopology*> by_row_;  // at least as long as the table
};

}  // namespace berth::plugins
