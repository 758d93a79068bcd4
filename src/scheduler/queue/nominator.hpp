// Which pods were promised which node (kube-scheduler v1.37.1's nominator).
#pragma once

#include <boost/unordered_map.hpp>
#include <optional>
#include <string>

#include "scheduler/framework/queued_pod.hpp"

namespace berth::queue {

// A pod is known by its UID and nominated to at most one node, which need not exist. One thread.
class Nominator {
 public:
  struct Nomination {
    framework::QueuedPodPtr pod;
    cluster::NodeNameId node;
  };

  // `node` counts if it is given (an unknown id takes the nomination back), else status.nominatedNodeName.
  // Whatever was known of the pod before is forgotten.
  void Set(const framework::QueuedPodPtr& pod, std::optional<cluster::NodeNameId> node = std::nullopt);
  // The pod changed. A nomination that is only in our memory yet survives an update that does not speak of
  // nominations; `had` is status.nominatedNodeName before the update.
  void Update(cluster::NodeNameId had, const framework::QueuedPodPtr& pod);
  void Delete(const std::string& uid) { by_uid_.erase(uid); }

  const boost::unordered_map<std::string, Nomination>& all() const { return by_uid_; }

 private:
  boost::unordered_map<std::string, Nomination> by_uid_;
};

}  // namespace berth::queue
