// Clusters and pods that benchmarks decide about, by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/objects.hpp"
#include "cache/cluster_cache.hpp"

namespace berth::bench {

// What is in the cluster before the first decision, and the i-th pod to decide about. The same name always
// makes the same pods.
struct Workload {
  std::string name;
  std::string about;
  std::function<void(cache::ClusterCache&, std::size_t nodes, std::size_t pods)> prepare;
  std::function<api::PodPtr(std::size_t i)> pod;
};

// Nodes of three shapes in three zones; every tenth has a taint that few pods tolerate, every fifth one that
// is only to be avoided.
api::NodePtr MakeNode(std::size_t i);

const std::vector<Workload>& Workloads();
// Null if there is none of that name.
const Workload* FindWorkload(std::string_view name);

}  // namespace berth::bench
