// Follows a cluster without scheduling: what shadow mode and the extender server run on a ClusterLoop.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cluster/pending_pods.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "scheduler/cycle/pod_directory.hpp"
#include "scheduler/runtime/profile_list.hpp"

namespace berth::cycle {

// Receives every change before and after it is applied to the cluster state. Called on the loop's thread.
class ChangeObserver {
 public:
  virtual ~ChangeObserver() = default;
  virtual void Before(const ports::ClusterChange& change) = 0;
  virtual void After() = 0;
  // All objects that existed at the start have been applied.
  virtual void Synced() = 0;
};

// Applies all changes to the cluster state and keeps the pods without a node that one of the profiles is
// responsible for, with their nominations. Scheduler loop only.
class ClusterFollower final : public ClusterLoop::Handler {
 public:
  // All arguments must outlive this object.
  ClusterFollower(cluster::SymbolTable& symbols, cluster::ClusterState& cluster,
                  cluster::PendingPods& pending, const runtime::ProfileList& profiles)
      : symbols_(symbols), cluster_(cluster), pending_(pending), profiles_(profiles), pods_(cluster) {}

  // Adds an observer, which must outlive this object.
  void Observe(ChangeObserver& observer) { observers_.push_back(&observer); }

  void OnChange(ports::ClusterChange& change) override;
  void OnSynced() override;
  bool DoWork() override;
  MonoTime NextDue() const override { return MonoTime::max(); }

  // The nominations in status.nominatedNodeName of pods without a node, in no defined order. Valid until the
  // next change.
  std::vector<runtime::Nomination> Nominations() const;
  // The last received versions, in no defined order: pods with a node, and pods without a node that a profile
  // is responsible for.
  std::vector<api::PodPtr> Pods() const { return pods_.All(); }

 private:
  void Apply(const ports::Change<api::Pod>& change);
  void Apply(const ports::Change<api::Node>& change);
  template <class T>
  void Apply(const ports::Change<T>& change);
  void RemovePod(const api::Pod& pod);
  void UpdateNomination(const api::PodPtr& pod);

  cluster::SymbolTable& symbols_;
  cluster::ClusterState& cluster_;
  cluster::PendingPods& pending_;
  const runtime::ProfileList& profiles_;
  PodDirectory pods_;
  TextMap<cluster::PodInfo> nominated_;  // by UID
  std::vector<ChangeObserver*> observers_;
};

}  // namespace berth::cycle
