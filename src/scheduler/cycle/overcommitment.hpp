// Detection of nodes that a pod bound by another scheduler overcommits.
#pragma once

#include <string>

#include "kubernetes/ports/ports.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/cluster/cluster_state.hpp"

namespace berth::cycle {

// The previous leader may have sent a binding that takes effect only after this replica gave the node's
// resources to other pods. This cannot be prevented (see LeaseFence) but is reported. Scheduler loop only.
class OvercommitmentReport {
 public:
  // `controller`: the schedulerName that reports the events.
  OvercommitmentReport(const cluster::ClusterState& cluster, cluster::SymbolTable& symbols,
                       ports::EventSink& events, metrics::Counter& overcommitted, std::string controller)
      : cluster_(cluster),
        symbols_(symbols),
        events_(events),
        overcommitted_(overcommitted),
        controller_(std::move(controller)) {}

  // Reports by log, metric and event if the node of this pod, which is in the cluster state, is
  // overcommitted.
  void Check(const api::Pod& pod) const;

 private:
  const cluster::ClusterState& cluster_;
  cluster::SymbolTable& symbols_;
  ports::EventSink& events_;
  metrics::Counter& overcommitted_;
  const std::string controller_;
};

}  // namespace berth::cycle
