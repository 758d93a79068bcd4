// Notices nodes whose kubelet has fallen silent.
#pragma once

#include <unordered_map>

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

struct NodeLifecycleOptions {
  Duration grace = std::chrono::seconds(50);  // kube-controller-manager's --node-monitor-grace-period
  bool enabled = true;                        // false: nobody renews leases, silence means nothing
};

// As kube-controller-manager's node lifecycle controller v1.37: a node that has not renewed its lease for the
// grace period gets its kubelet's conditions set to Unknown, and pods on a node that is no longer Ready are
// no longer Ready either. NodeTaints makes taints of that, TaintEviction acts on them. Unlike the original it
// tries all nodes at once, without limits for whole zones. One thread.
class NodeLifecycle final : public StoreObserver {
 public:
  NodeLifecycle(ControllerContext& context, const NodeLifecycleOptions& options);
  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  void Monitor();
  void DeclareUnknown(const Object& node);
  WorkQueue::Outcome MarkPodsNotReady(const std::string& node);

  ControllerContext& context_;
  NodeLifecycleOptions options_;
  std::unordered_map<std::string, MonoTime> heard_;  // by node
  std::unordered_map<std::string, bool> ready_;      // by node
  WorkQueue pods_;                                   // nodes whose pods are to be marked
};

}  // namespace berth::sandbox
