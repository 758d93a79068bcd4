// Deletes objects whose owners are gone, and handles foreground deletion and orphaning.
#pragma once

#include <unordered_set>

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: an object is deleted when none of its owners exists any more. An
// object with the finalizer foregroundDeletion waits for its blocking dependents (blockOwnerDeletion) and
// deletes all dependents. An object with the finalizer orphan first removes itself from its dependents.
// Owners are matched by uid, in the same namespace or cluster-scoped. One thread.
class GarbageCollector final : public StoreObserver {
 public:
  explicit GarbageCollector(ControllerContext& context);
  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  enum class OwnerState { kAbsent, kWaiting, kPresent };
  struct Owners {
    std::vector<std::string> absent, waiting;  // uids
    bool present = false;
  };
  WorkQueue::Outcome Reconcile(const std::string& key);
  WorkQueue::Outcome FinishForeground(const Object& owner);
  void Orphan(const Object& owner);
  void DeleteIfOrphaned(const Object& object);
  Owners OwnersOf(const Object& object) const;
  OwnerState StateOf(const json::object& reference, const Object& dependent) const;
  void DropReferences(const Object& object, const std::vector<std::string>& uids);
  void DropFinalizer(const Object& object, std::string_view finalizer);
  void Enqueue(const ResourceType& type, const std::string& key);
  // The owners of the object that wait for their dependents.
  void EnqueueWaitingOwners(const Object& dependent);

  ControllerContext& context_;
  WorkQueue queue_;  // "<index of the type>|<key>"
  std::unordered_set<std::string>
      deleting_dependents_of_;  // uids of owners whose dependents have been enqueued
};

}  // namespace berth::sandbox
