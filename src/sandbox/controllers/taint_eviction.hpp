// Evicts pods that do not tolerate a NoExecute taint of their node, or whose toleration time has ended.
#pragma once

#include <unordered_map>

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager's taint eviction controller v1.37: a pod stays for the shortest
// tolerationSeconds among the first matching toleration of each taint, counted from the first observation of
// the taint; without limit if none of these has tolerationSeconds, or all of them have more than a century.
// One thread.
class TaintEviction final : public StoreObserver, public PodObserver {
 public:
  explicit TaintEviction(ControllerContext& context);
  void OnChange(const ResourceType& type, const Change& change) override;
  void OnPod(const PodFacts* before, const PodFacts* after) override;

 private:
  struct Taint {
    std::string key, value;
    friend bool operator==(const Taint&, const Taint&) = default;
  };
  // The toleration time of the pod, from the first observation of the taints; nullopt: no limit.
  static std::optional<Duration> TolerationTime(const Object& pod, const std::vector<Taint>& taints);
  WorkQueue::Outcome Reconcile(const std::string& node);
  void Evict(const Object& pod);

  ControllerContext& context_;
  // NoExecute, by node; nodes without such taints have no entry
  std::unordered_map<std::string, std::vector<Taint>> taints_;
  std::unordered_map<std::string, MonoTime> tolerating_since_;  // by the pod's uid
  WorkQueue queue_;                                             // nodes
};

}  // namespace berth::sandbox
