// What the node lifecycle controller does: taints that mirror spec.unschedulable and the conditions.
#pragma once

#include "base/timer_queue.hpp"
#include "sandbox/apiserver/verbs.hpp"

namespace berth::sandbox {

// Cordoned nodes get node.kubernetes.io/unschedulable, nodes with a bad condition the taint of that
// condition; taints of these names go when their reason does. Other taints are left alone. One thread.
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
