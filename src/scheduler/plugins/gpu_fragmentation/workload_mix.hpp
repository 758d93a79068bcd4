// The pods that are typical for a cluster, learned from those on its nodes.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/plugins/gpu_fragmentation/gpu_demand.hpp"

namespace berth::plugins {

// Counts the pods on nodes, assumed ones included, by what they request; only pods that request GPUs. A pod
// counts when its claims are known. The mix is computed again after a tenth of the pods has changed. Pods
// with unusually long requests and, beyond kMostDemands different ones, pods with further requests do not
// count. Scheduler loop only.
class WorkloadMix final : private cluster::PodObserver {
 public:
  static constexpr std::size_t kMostDemands = 4096;
  static constexpr std::size_t kLongestKey = 4096;

  // The arguments must outlive it. `most`: the mix has at most this number of demands, the most frequent
  // ones.
  WorkloadMix(framework::Handle& handle, const GpuDemands& demands, std::size_t most);
  ~WorkloadMix() override;
  WorkloadMix(const WorkloadMix&) = delete;
  WorkloadMix& operator=(const WorkloadMix&) = delete;

  struct Typical {
    GpuDemand demand;
    double weight = 0;  // of all, 1
  };
  // By descending weight.
  const std::vector<Typical>& typical() const { return typical_; }
  // Changes with typical(). All cached results of the node table become invalid at the same time.
  std::uint64_t version() const { return version_; }
  std::size_t counted() const { return counted_; }  // pods

 private:
  struct Demand {
    GpuDemand demand;
    std::size_t pods = 0;
  };
  using Demands = std::map<std::string, Demand>;  // by key

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnClaim(const ports::Change<api::ResourceClaim>& change);
  // Returns false if a claim is missing.
  bool Count(const cluster::PlacedPod& pod);
  void Changed();

  framework::Handle& handle_;
  const GpuDemands& demands_;
  const std::size_t most_;
  Demands known_;
  boost::unordered_flat_map<const cluster::PlacedPod*, Demands::iterator> demand_of_;
  FlatTextMap<const cluster::PlacedPod*> without_claims_;  // by UID: pods with a missing claim
  std::size_t counted_ = 0;
  std::size_t changes_ = 0;  // since the mix was computed
  std::vector<Typical> typical_;
  std::uint64_t version_ = 1;
  const std::shared_ptr<const void> self_ = std::make_shared<const char>();  // of the listener
};

}  // namespace berth::plugins
