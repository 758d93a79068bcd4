// Temporary removal of pods on many nodes.
#pragma once

#include <cstddef>
#include <vector>

#include "scheduler/cluster/node_table.hpp"

namespace berth::cluster {

// Takes pods off the table and puts them back, at the latest when it is destroyed. An Overlay is cheaper, but
// the counts of PodCounters do not follow it: decisions about further pods need a withdrawal. Observers are
// notified if they follow withdrawals (NodeTable::ObserveWithWithdrawals) or overlays. Pods may be added to
// the table and removed from it in the meantime, but not those that are withdrawn, and their rows must stay.
// Meanwhile no node has an image: in kube-scheduler, the copies of nodes that a pod group's preemption
// changes count no nodes for any image (Snapshot.StartMutations in pkg/scheduler/backend/cache/snapshot.go),
// so that ImageLocality's score is 0. Results that depend on all nodes are invalid afterwards. Nodes must not
// change.
class NodeTable::Withdrawal {
 public:
  explicit Withdrawal(NodeTable& table) : table_(table) { SwapImages(); }
  Withdrawal(const Withdrawal&) = delete;
  Withdrawal& operator=(const Withdrawal&) = delete;
  ~Withdrawal();

  // Removes a pod that is on this row. The result identifies it for the other methods: 0, 1, and so on.
  std::size_t Remove(Row row, PlacedPod& pod);
  // The pod must be removed; afterwards RemoveAgain must be used.
  void PutBack(std::size_t index);
  void RemoveAgain(std::size_t index);

 private:
  struct Entry {
    Row row = kNoRow;
    PlacedPod* pod = nullptr;
    bool removed = false;
    std::vector<HostPort> ports;  // those that the removal has freed
  };
  void Take(Entry& entry);
  void SwapImages();

  NodeTable& table_;
  std::vector<Entry> pods_;
  std::vector<ImageState> images_;  // of the table
};

}  // namespace berth::cluster
