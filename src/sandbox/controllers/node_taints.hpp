// Taints that mirror spec.unschedulable and the conditions of nodes: a part of the node lifecycle controller.
#pragma once

#include "base/timer_queue.hpp"
#include "sandbox/apiserver/verbs.hpp"

namespace berth::sandbox {

// Cordoned nodes get node.kubernetes.io/unschedulable, nodes with a bad condition the taint of that
// condition. These taints are removed when their reason ends. Other taints are not changed. One thread.
class NodeTaints final : public StoreObserver {
 public:
  NodeTaints(Verbs& verbs, TimerQueue& timers);
  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  void Reconcile(const std::string& name);
  Verbs& verbs_;
  TimerQueue& timers_;
};

}  // namespace berth::sandbox
