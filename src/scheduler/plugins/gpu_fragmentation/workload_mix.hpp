// The pods that are typical for a cluster, learned from those on its nodes.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/text_map.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/plugins/gpu_fragmentation/gpu_demand.hpp"

namespace berth::plugins {

// Counts the pods on nodes, assumed ones included, by what they request; only pods that request GPUs. A pod
// counts while its claims exist. The mix is computed again, at the next decision, after a tenth of the pods
// has changed. Pods with unusually long requests and, beyond kMostDemands different ones, pods with further
// requests do not count. Scheduler loop only.
//
// Placements that the search for a pod group takes back are no changes: a member of a group counts from the
// first change on after the group was placed.
//
// So the counts follow from the objects, and only the mix and the number of changes since depend on what was
// before. Within one change of the cluster, such as that of a node with its pods, the order of pods has no
// influence.
class WorkloadMix final : private cluster::PodObserver {
 public:
  static constexpr std::size_t kMostDemands = 4096;
  static constexpr std::size_t kLongestKey = GpuDemands::kLongestKey;

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
  // Computes the mix if it is due. To be called at the begin of a decision; all cached results of the node
  // table have become invalid before.
  void Refresh();
  // By descending weight.
  const std::vector<Typical>& typical() const { return typical_; }
  // Changes with typical().
  std::uint64_t version() const { return version_; }
  std::size_t counted() const { return counted_; }  // pods

  // What does not follow from the objects, as a value, for recordings.
  struct Saved {
    struct OfTypical {
      SavedGpuDemand demand;
      double weight = 0;
      static void VisitFields(auto& self, auto&& visit) {
        visit("demand", self.demand);
        visit("weight", self.weight);
      }
    };
    std::vector<OfTypical> typical;
    std::uint64_t changes = 0;
    static void VisitFields(auto& self, auto&& visit) {
      visit("typical", self.typical);
      visit("changes", self.changes);
    }
  };
  // An error while pods do not count because there are more than kMostDemands different ones: which do
  // depends on their order.
  Expected<Saved> Save();
  // The objects of the time of Save must have been received.
  Expected<void> Restore(const Saved& saved);

 private:
  struct Demand {
    GpuDemand demand;
    std::size_t pods = 0;
  };
  using Demands = std::map<std::string, Demand>;  // by key

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnClaim(const ports::Change<api::ResourceClaim>& change);
  // Counts members of groups that were placed.
  void CountPlaced();
  void Count(const cluster::PlacedPod& pod);
  void StopCounting(const cluster::PlacedPod& pod);
  void Changed();

  framework::Handle& handle_;
  const GpuDemands& demands_;
  const std::size_t most_;
  Demands known_;
  // Of pods that count, or would if there were fewer demands: these have the end of known_.
  boost::unordered_flat_map<const cluster::PlacedPod*, Demands::iterator> demand_of_;
  // Pods with claims: the keys of the claims, and back, by UID.
  boost::unordered_flat_map<const cluster::PlacedPod*, std::vector<std::string>> claims_of_;
  TextMap<std::map<std::string, const cluster::PlacedPod*>> pods_of_claim_;
  // Members of groups that may be taken back, in the order of their placement.
  std::vector<const cluster::PlacedPod*> tentative_;
  std::size_t counted_ = 0;
  std::size_t left_out_ = 0;  // pods that do not count because of kMostDemands
  std::size_t changes_ = 0;   // since the mix was computed
  bool due_ = false;          // more than a tenth has changed
  std::vector<Typical> typical_;
  std::uint64_t version_ = 1;
  const std::shared_ptr<const void> self_ = std::make_shared<const char>();  // of the listener
};

}  // namespace berth::plugins
