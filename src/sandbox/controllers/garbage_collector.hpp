// Deletes what has lost its owners, and holds back or lets go what is deleted in the foreground or orphaned.
#pragma once

#include <unordered_set>

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: an object goes when none of its owners exists any more; an object
// with the finalizer foregroundDeletion waits for dependents that block it (blockOwnerDeletion) and deletes
// all of them; one with the finalizer orphan lets its dependents go first. Owners count by uid, in the same
// namespace or cluster-scoped. One thread.
class GarbageCollector final : public StoreObserver {
 public:
  explicit GarbageCollector(ControllerContext& context);
  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  enum class OwnerState { kAbsent, kWaiting, kSolid };
  struct Owners {
    std::vector<std::string> absent, waiting;  // uids
    bool solid = false;
  };
  WorkQueue::Outcome Look(const std::string& key);
  WorkQueue::Outcome FinishForeground(const Object& owner);
  void Orphan(const Object& owner);
  void Judge(const Object& object);
  Owners OwnersOf(const Object& object) const;
  OwnerState StateOf(const json::object& reference, const Object& dependent) const;
  void DropReferences(const Object& object, const std::vector<std::string>& uids);
  void DropFinalizer(const Object& object, std::string_view finalizer);
  void Note(const ResourceType& type, const std::string& key);

  ControllerContext& context_;
  WorkQueue queue_;                            // "<index of the type>|<key>"
  std::unordered_set<std::string> spreading_;  // uids of owners whose dependents have been noted
};

}  // namespace berth::sandbox
