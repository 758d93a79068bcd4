// Pods without a node for which no profile is responsible.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

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
  std::size_t size() const { return pods_.size(); }
  // Removes and returns the pods for which take(pod) is true, in the order of their namespaces and names.
  template <class Take>
  std::vector<api::PodPtr> TakeIf(Take&& take);

 private:
  TextMap<api::PodPtr> pods_;  // by UID
};

template <class Take>
std::vector<api::PodPtr> UnclaimedPods::TakeIf(Take&& take) {
  std::vector<api::PodPtr> taken;
  for (const auto& [uid, pod] : pods_) {
    if (take(*pod)) taken.push_back(pod);
  }
  for (const api::PodPtr& pod : taken) pods_.erase(pod->metadata.uid);
  std::ranges::sort(taken, [](const api::PodPtr& a, const api::PodPtr& b) {
    return std::tie(a->metadata.ns, a->metadata.name) < std::tie(b->metadata.ns, b->metadata.name);
  });
  return taken;
}

}  // namespace berth::cycle
