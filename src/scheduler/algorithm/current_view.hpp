// The view of a cache that decisions read.
#pragma once

#include <cstdint>
#include <memory>

#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/cluster/cluster_state.hpp"

namespace berth::algorithm {

// Caches the node names that records share; rebuilds them only after a node was added or removed. Scheduler
// loop only.
class CurrentView {
 public:
  // Must always be called with the same cache. Valid until the cache changes.
  ClusterView Of(cluster::ClusterState& cache) {
    if (generation_ != cache.node_generation()) {
      generation_ = cache.node_generation();
      names_ = NamesOf(cache.nodes());
    }
    return {cache.nodes(), cache.VisitingOrder(), names_};
  }

 private:
  std::shared_ptr<const record::NodeNames> names_;
  std::uint64_t generation_ = UINT64_MAX;
};

}  // namespace berth::algorithm
