// Loads a workload's cluster into an engine's cache.
#pragma once

#include <functional>
#include <vector>

#include "bench/workloads.hpp"
#include "kubernetes/api/decode.hpp"
#include "scheduler/cluster/cluster_state.hpp"

namespace berth::bench {

// A pod to schedule, and the cluster changes before it.
struct Step {
  std::vector<std::function<void(cluster::ClusterState&)>> changes;
  api::PodPtr pod;
};

// Decodes the objects as if an API server had sent them. Objects before the first pending pod enter the
// cluster immediately; the others are kept until their pod. Aborts the program at an object that cannot be
// decoded.
class Stage {
 public:
  Stage(cluster::ClusterState& cache, const Workload& workload, const Size& size);

  const std::vector<Step>& steps() const { return steps_; }

 private:
  void Take(const Event& event);

  cluster::ClusterState& cache_;
  api::Decoder decoder_;
  std::vector<Step> steps_;
  Step next_;
};

}  // namespace berth::bench
