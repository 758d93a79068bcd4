// Notifications about pods and nodes of the node table.
#pragma once

#include "scheduler/cluster/node_table.hpp"

namespace berth::cluster {

// Called for every pod that is added to a row or removed from it, after the table has changed. Used by
// counters that follow the cluster.
class PodObserver {
 public:
  virtual ~PodObserver() = default;
  // The pod is on the row already, or no longer.
  virtual void OnPodAdded(Row row, const PlacedPod& pod) = 0;
  virtual void OnPodRemoved(Row row, const PlacedPod& pod) = 0;
  // A node was added at this row, or is about to be removed from it. The observer knows no pods of the row at
  // this time.
  virtual void OnNodeAdded(Row /*row*/) {}
  virtual void OnNodeRemoved(Row /*row*/) {}
};

}  // namespace berth::cluster
