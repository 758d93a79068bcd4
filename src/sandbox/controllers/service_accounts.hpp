// The objects in every namespace: the service account "default" and the root certificates.
#pragma once

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// Creates them, and creates them again after a deletion. One thread.
class ServiceAccounts final : public StoreObserver {
 public:
  explicit ServiceAccounts(ControllerContext& context);
  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  WorkQueue::Outcome Reconcile(const std::string& ns);
  ControllerContext& context_;
  WorkQueue queue_;  // namespaces
};

}  // namespace berth::sandbox
