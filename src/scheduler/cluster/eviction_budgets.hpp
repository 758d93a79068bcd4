// What PodDisruptionBudgets allow to be evicted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/api/label_selector.hpp"
#include "kubernetes/api/pod.hpp"
#include "kubernetes/api/workloads.hpp"
#include "scheduler/cluster/cluster_objects.hpp"

namespace berth::cluster {

// The allowance of each budget is that of its status; Take counts an eviction that is planned but not yet
// visible, Release a replacement that runs.
class EvictionBudgets {
 public:
  explicit EvictionBudgets(ClusterObjects& objects);
  struct Room {
    std::size_t budgets = 0;  // that select the pod; the API server rejects evictions with more than one
    std::int64_t left = 0;    // disruptions that the budget allows
    std::string name;         // without its namespace, which is the pod's
  };
  Room For(const api::Pod& pod) const;
  // What a budget allows; nullopt: it was not there, or its selector is not valid.
  std::optional<std::int64_t> Left(const api::PodDisruptionBudget& budget) const;
  void Take(const api::Pod& pod) { Change(pod, -1); }
  void Release(const api::Pod& pod) { Change(pod, 1); }

 private:
  struct Budget {
    std::string name;
    api::ParsedSelector selector;
    std::int64_t left = 0;
  };
  void Change(const api::Pod& pod, std::int64_t by);

  TextMap<std::vector<Budget>> by_namespace_;  // in the order of their names
};

}  // namespace berth::cluster
