// Removes pods whose node no longer exists.
#pragma once

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager's pod garbage collector v1.37: forty seconds after a node is deleted, its
// pods are failed with the condition DisruptionTarget and deleted without grace period, because no kubelet
// can do it. One thread.
class PodGc final : public StoreObserver, public PodObserver {
 public:
  explicit PodGc(ControllerContext& context);
  void OnChange(const ResourceType& type, const Change& change) override;
  void OnPod(const PodFacts* before, const PodFacts* after) override;

 private:
  WorkQueue::Outcome Collect(const std::string& node);

  ControllerContext& context_;
  WorkQueue queue_;  // names of nodes
};

// Sets a pod's condition DisruptionTarget; `fail` also sets the phase Failed.
void MarkDisrupted(ControllerContext& context, const Object& pod, std::string_view reason,
                   std::string_view message, bool fail = false);

}  // namespace berth::sandbox
