// Removes reservations of claims, and records which ones may not be removed yet.
#pragma once

#include <memory>
#include <string>

#include "base/text_map.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::plugins {

// Until the watch has delivered the removal, a claim looks reserved for a pod that it is not reserved for.
// The pod must not be bound then: its devices could be given to others. Scheduler loop only.
class ClaimReleases : public std::enable_shared_from_this<ClaimReleases> {
 public:
  explicit ClaimReleases(framework::Handle& handle) : handle_(handle) {}

  // Removes the pod from the consumers of the claim. Repeated until the outcome is known.
  void Start(const api::ObjectMeta& claim, const std::string& pod_uid);
  // Whether the reservation is being removed, or was removed and the watch has not delivered that.
  bool IsPending(const std::string& claim_uid, const std::string& pod_uid) const {
    return pending_.contains(KeyOf(claim_uid, pod_uid));
  }

 private:
  struct Release {
    std::string ns, name, claim_uid, pod_uid;
  };
  static std::string KeyOf(const std::string& claim_uid, const std::string& pod_uid) {
    return claim_uid + "/" + pod_uid;
  }
  void Send(const Release& release);
  void OnDone(const Release& release, const Expected<std::string>& version);
  void AwaitDelivery(const Release& release, const std::string& version);
  void End(const Release& release);

  framework::Handle& handle_;
  // By claim and pod: the number of removals. One per attempt at most, and they end.
  FlatTextMap<int> pending_;
};

}  // namespace berth::plugins
