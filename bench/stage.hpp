// A cluster that a workload tells of, in an engine's cache.
#pragma once

#include <functional>
#include <vector>

#include "kubernetes/api/decode.hpp"
#include "bench/workloads.hpp"
#include "scheduler/cluster/cluster_state.hpp"

namespace berth::bench {

// A pod to decide about, and what changes in the cluster before that.
struct Turn {
  std::vector<std::function<void(cluster::ClusterState&)>> changes;
  api::PodPtr pod;
};

// Decodes what it is told as if an API server had sent it. What comes before the first waiting pod is in the
// cluster at once; the rest is kept for its turn. Ends the program at an object that cannot be understood.
class Stage {
 public:
  Stage(cluster::ClusterState& cache, const Workload& workload, const Size& size);

  const std::vector<Turn>& turns() const { return turns_; }

 private:
  void Take(const Event& event);
  template <class T>
  void TakeAs(const Event& event);

  cluster::ClusterState& cache_;
  api::Decoder decoder_;
  std::vector<Turn> turns_;
  Turn next_;
};

}  // namespace berth::bench
