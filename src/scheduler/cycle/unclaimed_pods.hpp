// Pods without a node for which no profile is responsible.
#pragma once

#include <string>

#include "base/text_map.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::cycle {

// A profile that a later configuration adds becomes responsible for them. The objects are shared with the
// watch's store. Scheduler loop only.
class UnclaimedPods {
 public:
  // Adds or replaces the pod.
  void Put(const api::PodPtr& pod) { pods_[pod->metadata.uid] = pod; }
  void Remove(const std::string& uid) { pods_.erase(uid); }
  // Null if the pod is not here.
  api::PodPtr Find(const std::string& uid) const {
    const auto found = pods_.find(uid);
    return found == pods_.end() ? nullptr : found->second;
  }
  std::size_t size() const { return pods_.size(); }
  // Calls visit(const api::PodPtr&) for every pod, in no defined order.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [uid, pod] : pods_) visit(pod);
  }

 private:
  TextMap<api::PodPtr> pods_;  // by UID
};

}  // namespace berth::cycle
