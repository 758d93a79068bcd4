// Deletes pods that do not tolerate a NoExecute taint of their node, or not for longer.
#pragma once

#include <unordered_map>

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// As kube-controller-manager's taint eviction controller v1.37: a pod stays as long as the shortest
// tolerationSeconds among the tolerations that it uses, counted from when the taint was first seen; for ever
// if all taints are tolerated without a limit. One thread.
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
  // How long the pod may stay; nothing: for ever.
  static std::optional<Duration> Patience(const Object& pod, const std::vector<Taint>& taints);
  WorkQueue::Outcome Reconcile(const std::string& node);
  void Evict(const Object& pod);

  ControllerContext& context_;
  std::unordered_map<std::string, std::vector<Taint>> taints_;  // NoExecute, by node; none: no entry
  std::unordered_map<std::string, MonoTime> doomed_since_;      // by the pod's uid
  WorkQueue queue_;                                             // nodes
};

}  // namespace berth::sandbox
