// Detects nodes whose kubelet no longer renews its lease.
#pragma once

#include <unordered_map>

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

struct NodeLifecycleOptions {
  Duration grace = std::chrono::seconds(50);  // kube-controller-manager's --node-monitor-grace-period
  bool enabled = true;  // false: leases are not renewed, and missing heartbeats are ignored
};

// Follows kube-controller-manager's node lifecycle controller v1.37. If a node has not renewed its lease for
// the grace period, the conditions of its kubelet become Unknown. Pods on a node that is not Ready lose their
// condition Ready. NodeTaints derives taints from the conditions, and TaintEviction acts on those. Unlike
// kube-controller-manager it handles all nodes at once, without limits for whole zones. After a pause of the
// process, the grace period of all nodes begins again. One thread.
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
  std::unordered_map<std::string, MonoTime> last_heartbeat_;  // last heartbeat, by node
  std::unordered_map<std::string, bool> ready_;               // by node
  WorkQueue pods_;                                            // nodes whose pods must be updated
  MonoTime last_round_;                                       // of Monitor
};

}  // namespace berth::sandbox
