// The estimated CPU usage of pods that were placed shortly before the measurement or after it.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/shared_text.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::plugins {

// Follows bound and assumed pods. A pod counts completely until it was placed for 60 s when the measurement
// was made, as in TargetLoadPacking of scheduler-plugins v0.33.5. Unlike there, assumed pods count, the start
// of the scheduler is not the start of all pods, and pods are dropped with the measurement that includes
// them. Scheduler loop only.
class RecentPods final : private cluster::PodObserver {
 public:
  using Estimate = std::function<std::int64_t(const api::Pod&)>;

  RecentPods(framework::Handle& handle, load_metrics::SignalId signal, Estimate estimate);
  ~RecentPods() override;
  RecentPods(const RecentPods&) = delete;
  RecentPods& operator=(const RecentPods&) = delete;

  // The sum of the estimates.
  std::int64_t At(cluster::Row row) const { return row < sums_.size() ? sums_[row] : 0; }

  // The content as a value, for recordings. Restore requires the same nodes and pods.
  struct Saved {
    cluster::Row row = 0;
    SharedText uid;
    MonoTime since;
    std::int64_t estimate = 0;
    static void VisitFields(auto& self, auto&& visit) {
      visit("row", self.row);
      visit("uid", self.uid);
      visit("since", self.since);
      visit("estimate", self.estimate);
    }
  };
  std::vector<Saved> Save() const;
  Expected<void> Restore(const std::vector<Saved>& saved);

 private:
  struct RecentPod {
    const cluster::PlacedPod* pod = nullptr;
    MonoTime since{};
    std::int64_t estimate = 0;
  };

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodStarted(cluster::Row row, const cluster::PlacedPod& pod) override;
  MonoTime StartOf(const api::Pod& pod) const;
  bool IsMeasured(const RecentPod& pod) const;
  void OnPoll();
  void Sum(cluster::Row row, const std::vector<RecentPod>& pods);

  cluster::NodeTable& nodes_;
  load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId signal_;
  const Estimate estimate_;
  boost::unordered_flat_map<cluster::Row, std::vector<RecentPod>> pods_;
  std::vector<std::int64_t> sums_;  // by row
};

}  // namespace berth::plugins
