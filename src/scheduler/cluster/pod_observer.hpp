// Notifications about pods and nodes of the node table.
#pragma once

#include <span>

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
  // The start time of the row's pod has changed; the pod has the new one. An observer whose results depend on
  // it calls NodeTable::InvalidateResults(row). Also called for a pod that is withdrawn.
  virtual void OnPodStarted(Row /*row*/, const PlacedPod& /*pod*/) {}
  // The row's pods, at least one, when the observer is registered. A reload of the configuration registers
  // observers between two decisions, so that one that can read the pods later overrides this.
  virtual void OnPodsFound(Row row, std::span<PlacedPod* const> pods) {
    for (const PlacedPod* pod : pods) OnPodAdded(row, *pod);
  }
  // A node was added at this row, or is about to be removed from it. The observer knows no pods of the row at
  // this time.
  virtual void OnNodeAdded(Row /*row*/) {}
  virtual void OnNodeRemoved(Row /*row*/) {}
};

}  // namespace berth::cluster
