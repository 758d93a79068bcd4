// Notifications about pods without a node.
#pragma once

#include <string>
#include <vector>

#include "kubernetes/api/pod.hpp"

namespace berth::cluster {

// Called after the pod has changed, on the loop's thread.
class PendingPodObserver {
 public:
  virtual ~PendingPodObserver() = default;
  // A pod without a node is known, or its object has changed.
  virtual void OnPendingPod(const api::PodPtr& pod) = 0;
  // The pod with this UID has a node, has ended or was deleted. Also called for pods that were not reported.
  virtual void OnPendingPodGone(const std::string& uid) = 0;
};

// Reports the pods without a node that a profile of this scheduler is responsible for, assumed ones included,
// to plugins. Stores no pods: an observer receives those that change after Observe, and all of them after a
// reload of the configuration. Scheduler loop only.
class PendingPods {
 public:
  // The observer must be removed by Forget before it is destroyed.
  void Observe(PendingPodObserver& observer) { observers_.push_back(&observer); }
  void Forget(PendingPodObserver& observer) { std::erase(observers_, &observer); }

  void Put(const api::PodPtr& pod) const {
    for (PendingPodObserver* observer : observers_) observer->OnPendingPod(pod);
  }
  void Remove(const std::string& uid) const {
    for (PendingPodObserver* observer : observers_) observer->OnPendingPodGone(uid);
  }

 private:
  std::vector<PendingPodObserver*> observers_;
};

}  // namespace berth::cluster
