// Pods that measurements do not include yet, and their estimated load. Without it, all pods placed between
// two polls would go to the same "idle" node.
#pragma once

#include <boost/container/small_vector.hpp>
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

// Follows bound and assumed pods. A signal over a time window includes a pod in proportion to its run time
// within the window; the rest of its estimate is added until the pod has run for the whole window. During an
// outage of the metric source, all pods since the last measurement count. The start time of pods that existed
// when Berth started is taken from their status. Scheduler loop only.
class UnmeasuredPods final : private cluster::PodObserver {
 public:
  // The estimated load of a pod, in any unit.
  using Estimate = std::function<double(const api::Pod&, const cluster::PodUse&)>;

  UnmeasuredPods(framework::Handle& handle, load_metrics::SignalId signal, Estimate estimate);
  ~UnmeasuredPods() override;
  UnmeasuredPods(const UnmeasuredPods&) = delete;
  UnmeasuredPods& operator=(const UnmeasuredPods&) = delete;

  // Sets a function that is called when At changes for a row, or when a node was added. It is not called
  // after a poll, which changes all rows.
  void OnChange(std::function<void(cluster::Row)> listener) { changed_ = std::move(listener); }
  // The part of the estimates that the measurement does not include.
  double At(cluster::Row row) const { return row < sums_.size() ? sums_[row].unmeasured : 0; }
  // Of At, the estimates of pods that the measurement does not include at all, because they were placed later
  // than 25 s before the poll.
  double PlacedSince(cluster::Row row) const { return row < sums_.size() ? sums_[row].placed_since : 0; }

  // The content as a value, for recordings. Restore requires the same nodes and pods.
  struct Saved {
    struct Pod {
      SharedText uid;
      MonoTime since;
      double estimate = 0;
      static void VisitFields(auto& self, auto&& visit) {
        visit("uid", self.uid);
        visit("since", self.since);
        visit("estimate", self.estimate);
      }
    };
    struct OfRow {
      cluster::Row row = 0;
      double unmeasured = 0;
      double placed_since = 0;
      std::vector<Pod> pods;
      static void VisitFields(auto& self, auto&& visit) {
        visit("row", self.row);
        visit("unmeasured", self.unmeasured);
        visit("placedSince", self.placed_since);
        visit("pods", self.pods);
      }
    };
    std::vector<OfRow> rows;
    static void VisitFields(auto& self, auto&& visit) { visit("rows", self.rows); }
  };
  Saved Save() const;
  Expected<void> Restore(const Saved& saved);

 private:
  struct RowSum {
    double unmeasured = 0;
    double placed_since = 0;
  };
  struct UnmeasuredPod {
    const cluster::PlacedPod* pod = nullptr;
    MonoTime since{};
    double estimate = 0;
  };

  // Most rows have at most one, which is stored without an allocation.
  static constexpr std::size_t kInPlace = 1;
  using UnmeasuredPodsOfRow = boost::container::small_vector<UnmeasuredPod, kInPlace>;

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodStarted(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnNodeAdded(cluster::Row row) override;
  void Tell(cluster::Row row) const {
    if (changed_) changed_(row);
  }
  MonoTime StartOf(const api::Pod& pod) const;
  double UnmeasuredPart(const UnmeasuredPod& newcomer) const {
    return UnmeasuredPart(newcomer, MeasuredTime(newcomer));
  }
  double UnmeasuredPart(const UnmeasuredPod& newcomer, Duration measured) const;
  // The time that the last measurement includes of the pod's run time; not positive: none.
  Duration MeasuredTime(const UnmeasuredPod& newcomer) const;
  void Measured();
  static void ReturnMemory(UnmeasuredPodsOfRow& empty);
  void Grow(cluster::Row row);
  void Sum(cluster::Row row);

  cluster::NodeTable& nodes_;
  load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId signal_;
  const Estimate estimate_;
  std::function<void(cluster::Row)> changed_;
  // By row: 48 bytes for each node, and 24 for each pod until the poll that includes all pods of the row.
  std::vector<UnmeasuredPodsOfRow> pods_;
  std::vector<RowSum> sums_;  // by row
};

}  // namespace berth::plugins
