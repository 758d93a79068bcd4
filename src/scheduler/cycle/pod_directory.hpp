// The last received version of every pod.
#pragma once

#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/cluster/cluster_state.hpp"

namespace berth::cycle {

// Stores pods without a node that a profile of this scheduler is responsible for; pods with a node are in the
// cluster state. Scheduler loop only.
class PodDirectory {
 public:
  explicit PodDirectory(const cluster::ClusterState& cluster) : cluster_(cluster) {}

  // Adds or replaces a pod without a node.
  void Put(const api::PodPtr& pod) { pending_[pod->metadata.Key()] = pod; }
  // Removes the pod without a node of this name ("namespace/name"). Returns whether there was one.
  bool Remove(const std::string& key) { return pending_.erase(key) > 0; }
  // The pod without a node of this name; null if there is none.
  api::PodPtr FindPending(const std::string& key) const {
    const auto found = pending_.find(key);
    return found != pending_.end() ? found->second : nullptr;
  }
  // The pod without a node of this name and UID; null if there is none.
  api::PodPtr FindPending(const std::string& key, std::string_view uid) const {
    const auto found = pending_.find(key);
    return found != pending_.end() && found->second->metadata.uid == uid ? found->second : nullptr;
  }
  // Null if the pod was deleted.
  api::PodPtr Find(const api::ObjectMeta& pod) const {
    if (api::PodPtr pending = FindPending(pod.Key(), pod.uid)) return pending;
    // For an assumed pod, the cluster state has the version at the time of the assumption.
    return cluster_.IsAssumed(pod.uid) ? nullptr : cluster_.FindPod(pod.uid);
  }
  // In no defined order.
  std::vector<api::PodPtr> All() const {
    std::vector<api::PodPtr> pods;
    cluster_.AppendBoundPods(pods);
    for (const auto& [key, pod] : pending_) pods.push_back(pod);
    return pods;
  }
  // Calls visit(const api::PodPtr&) for the pods without a node, in no defined order.
  template <class Visit>
  void ForEachPending(Visit&& visit) const {
    for (const auto& [key, pod] : pending_) visit(pod);
  }
  std::size_t pending() const { return pending_.size(); }

 private:
  const cluster::ClusterState& cluster_;
  TextMap<api::PodPtr> pending_;  // by namespace/name
};

}  // namespace berth::cycle
