// Temporary changes of the node table.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "scheduler/cluster/node_table.hpp"

namespace berth::cluster {

// Temporarily adds pods to the table and removes others, until the overlay is destroyed: nominated pods
// during Filter, and the dry runs of preemption. Overlays must be destroyed in the reverse order of their
// creation.
class NodeTable::Overlay {
 public:
  explicit Overlay(NodeTable& table) : table_(table) {}
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;
  ~Overlay();
  // Adds a copy of the pod. The result is valid until the overlay ends.
  const PlacedPod& Add(Row row, const PodInfo& pod);
  // Removes a pod that is on this row. To restore it, call Add with the same object.
  void Remove(Row row, PlacedPod& pod);
  void Add(Row row, PlacedPod& pod);

 private:
  struct Step {
    Row row = kNoRow;
    bool added = false;
    PlacedPod* pod = nullptr;      // null: reverted by a later step
    std::uint32_t first_port = 0;  // in ports_: the ports that this step set or cleared
    std::uint32_t ports = 0;
  };
  void Take(Row row, PlacedPod& pod, bool add);
  bool CancelRemoval(Row row, PlacedPod& pod);

  NodeTable& table_;
  std::vector<Step> steps_;
  std::vector<HostPort> ports_;
  std::deque<PlacedPod> overlay_pods_;
};

}  // namespace berth::cluster
