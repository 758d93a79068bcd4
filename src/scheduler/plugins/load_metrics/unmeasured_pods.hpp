// Pods that a measurement has not seen yet, and what they will add to their node. Without them everything
// that is placed between two measurements would go to the same "idle" node.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <vector>

#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/cluster/node_table.hpp"

namespace berth::plugins {

// Follows bound and assumed pods. A signal that looks back over a window shows a pod the more the longer it
// has run: of its estimate the rest is counted on top, until the window lies wholly behind the pod's start.
// While nothing is measured, in an outage, all pods that came since the last measurement count. What was on
// the nodes when Berth started is dated by its status. One thread: the loop's.
class UnmeasuredPods final : private cluster::PodObserver {
 public:
  // What a pod will add to the signal, in any unit.
  using Estimate = std::function<double(const api::Pod&, const cluster::PodUse&)>;

  UnmeasuredPods(framework::Handle& handle, load_metrics::SignalId signal, Estimate estimate);
  ~UnmeasuredPods() override;
  UnmeasuredPods(const UnmeasuredPods&) = delete;
  UnmeasuredPods& operator=(const UnmeasuredPods&) = delete;

  // `told`: what At says of the row is another thing now, or there is another node. Not called for what an
  // answer changes: that concerns all rows.
  void OnChange(std::function<void(cluster::Row)> told) { changed_ = std::move(told); }
  double At(cluster::Row row) const { return row < pending_.size() ? pending_[row] : 0; }
  // What a pod of this cluster adds on average, in the signal's unit, as of the last answer. Where there were
  // no pods yet, a tenth of what a node carries.
  double PerPod() const { return per_pod_; }

 private:
  struct Newcomer {
    const cluster::PlacedPod* pod = nullptr;
    MonoTime since{};
    double estimate = 0;
  };

  void PodAppears(cluster::Row row, const cluster::PlacedPod& pod, bool imagined) override;
  void PodLeaves(cluster::Row row, const cluster::PlacedPod& pod, bool imagined) override;
  void NodeAppears(cluster::Row row) override { Tell(row); }
  void Tell(cluster::Row row) const {
    if (changed_) changed_(row);
  }
  MonoTime StartOf(const api::Pod& pod) const;
  double Unseen(const Newcomer& newcomer) const;
  void Measured();
  double MeanPerPod() const;
  void Sum(cluster::Row row, const std::vector<Newcomer>& unmeasured_pods);

  cluster::NodeTable& nodes_;
  load_metrics::SignalTable& measurements_;
  const load_metrics::SignalId signal_;
  const Estimate estimate_;
  std::function<void(cluster::Row)> changed_;
  boost::unordered_flat_map<cluster::Row, std::vector<Newcomer>> unmeasured_pods;
  std::vector<double> pending_;  // by row
  double per_pod_ = 0;
};

}  // namespace berth::plugins
