// Creates resource claims from templates, and ends reservations and allocations.
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "sandbox/controllers/controller.hpp"
#include "sandbox/controllers/resource_claims/pod_claims.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager's resource claim controller v1.37, without pod groups:
// - Creates a claim for each entry of spec.resourceClaims with a template and records it in the pod's status.
// - Reserves an allocated claim for a pod that is bound and not in status.reservedFor. A pod that has ended
// gets
//   neither a claim nor a reservation.
// - Removes pods from status.reservedFor that are gone, have ended, or are deleted before they were bound.
// The
//   claim is deallocated with its last consumer, and loses the finalizer. Claims that the scheduler has only
//   allocated keep their allocation.
// - Deletes claims made from templates whose pod has ended.
// One thread.
class ResourceClaimController final : public StoreObserver, public PodObserver {
 public:
  explicit ResourceClaimController(ControllerContext& context);
  void OnChange(const ResourceType& type, const Change& change) override;
  void OnPod(const PodFacts* before, const PodFacts* after) override;

 private:
  using Outcome = WorkQueue::Outcome;
  using Keys = std::set<std::string>;
  using Index = std::unordered_map<std::string, Keys>;

  // Called by the observers: they enqueue, and do not write.
  void Track(const std::string& pod_key, const std::vector<PodClaim>& claims);
  void EnqueuePod(const PodFacts& pod, bool deleted);
  void EnqueuePods(const Index& index, const std::string& key);
  bool NeedsWork(const Object& pod) const;

  Outcome SyncPod(const std::string& key);
  // The name of the claim that was found or created for an entry with a template; empty: nothing to record.
  ApiResult<std::string> HandleClaim(const Object& pod, const PodClaim& entry);
  ApiResult<std::string> CreateClaim(const Object& pod, const PodClaim& entry);
  std::string FindOrphan(const Object& pod, const PodClaim& entry) const;
  void RecordClaims(const Object& pod, const std::map<std::string, std::string>& created);
  bool ReserveClaims(const Object& pod);

  Outcome SyncClaim(const std::string& key);
  json::array RemainingConsumers(const Object& claim, const json::object& document) const;
  bool ReleaseConsumers(const Object& claim, const json::array& remaining);
  bool RemoveFinalizer(const Object& claim);
  void DeleteIfUnused(const Object& claim, const json::object& document);

  ControllerContext& context_;
  WorkQueue pods_, claims_;  // by key
  std::unordered_map<std::string, std::vector<PodClaim>>
      claims_of_;                           // by key of the pod; only pods with claims
  Index pods_by_claim_, pods_by_template_;  // by key; the inverse of claims_of_
};

}  // namespace berth::sandbox
