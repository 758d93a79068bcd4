// The compiled topologies of nodes, by row.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/plugins/node_resource_topology_match/numa_topology.hpp"

namespace berth::plugins {

// Nodes whose topologies differ only in available amounts. The amounts of a group are contiguous, and what a
// decision reads besides them is read once per group.
struct TopologyGroup {
  std::uint32_t index = 0;                  // below NumaTopologies::groups(); reused
  std::string key;                          // equal for equal topologies without amounts
  NumaTopology topology;                    // without amounts
  std::vector<std::int64_t> available;      // by slot, resource and zone
  std::vector<const std::string*> members;  // by slot: names of nodes

  std::size_t stride() const { return topology.resources.size() * topology.zones(); }
  const std::int64_t* amounts(std::uint32_t slot) const { return available.data() + slot * stride(); }
};

// The place of a node's amounts.
struct RowTopology {
  const TopologyGroup* group = nullptr;  // null: the node has no topology
  std::uint32_t slot = 0;
};

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
  std::span<const RowTopology> by_row() const { return by_row_; }
  // An upper bound of the indices of groups.
  std::size_t groups() const { return groups_.size(); }

  // Replaces the topology, which was compiled with names().
  void Set(const std::string& node, NumaTopology topology);
  void Remove(const std::string& node);

 private:
  struct Entry {
    TopologyGroup* group = nullptr;
    std::uint32_t slot = 0;
  };

  void OnPodAdded(cluster::Row, const cluster::PlacedPod&) override {}
  void OnPodRemoved(cluster::Row, const cluster::PlacedPod&) override {}
  void OnNodeAdded(cluster::Row row) override;
  void OnNodeRemoved(cluster::Row row) override;
  // The group with this topology, whose names are released if there is one already.
  TopologyGroup& GroupOf(NumaTopology topology);
  void Join(TopologyGroup& group, const std::string& node, const std::vector<std::int64_t>& available,
            Entry& entry);
  void Leave(const Entry& entry);
  // Returns the row of the node; kNoRow: it does not exist.
  cluster::Row Show(const std::string& node, RowTopology place);

  cluster::NodeTable& nodes_;
  NumaResourceNames names_;
  TextMap<Entry> by_node_;
  std::vector<std::unique_ptr<TopologyGroup>> groups_;  // by index; null: unused
  std::vector<std::uint32_t> free_;
  TextMap<TopologyGroup*> group_of_key_;
  std::vector<RowTopology> by_row_;  // at least as long as the table
};

}  // namespace berth::plugins
