// The cluster of a cache, as decisions read it.
#pragma once

#include <cstdint>
#include <memory>

#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"

namespace berth::algorithm {

// Makes the names that records share anew only when a node has come or gone. One thread.
class CurrentView {
 public:
  // Of always the same cache; good until that changes.
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
