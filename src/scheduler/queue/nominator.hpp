// Nominated pods and their nodes (kube-scheduler v1.37.1's nominator).
#pragma once

#include <optional>
#include <string>

#include "base/text_map.hpp"
#include "scheduler/framework/queued_pod.hpp"

namespace berth::queue {

// A pod is identified by its UID and nominated to at most one node, which need not exist. Scheduler loop
// only.
class Nominator {
 public:
  struct Nomination {
    framework::QueuedPodPtr pod;
    cluster::NodeNameId node;
  };

  // Sets the pod's nomination: `node` if given (an unknown id clears it), else status.nominatedNodeName.
  // Replaces an earlier nomination.
  void Set(const framework::QueuedPodPtr& pod, std::optional<cluster::NodeNameId> node = std::nullopt);
  // Handles an update of the pod. A nomination that has not been written to the API server yet survives an
  // update that does not change status.nominatedNodeName; `had` is its value before the update.
  void Update(cluster::NodeNameId had, const framework::QueuedPodPtr& pod);
  void Delete(const std::string& uid) { by_uid_.erase(uid); }

  void Clear() { by_uid_.clear(); }

  const TextMap<Nomination>& all() const { return by_uid_; }

 private:
  TextMap<Nomination> by_uid_;
};

}  // namespace berth::queue
