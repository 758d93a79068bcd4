// Writes the allocations and reservations of a pod's claims before the pod is bound, and waits for devices
// that become ready later (PreBind of kube-scheduler v1.37.1).
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/dynamic_resources/claim_metrics.hpp"
#include "scheduler/plugins/dynamic_resources/claim_releases.hpp"
#include "scheduler/plugins/dynamic_resources/claim_turns.hpp"
#include "scheduler/plugins/dynamic_resources/pod_claims.hpp"

namespace berth::plugins {

// Set while a claim is allocated, so that its deletion waits until its consumers have ended.
inline constexpr std::string_view kClaimFinalizer = "resource.kubernetes.io/delete-protection";

// One run for one pod. All on the loop's thread, except that writes end on other threads, which post the
// results.
class ClaimWrites : public std::enable_shared_from_this<ClaimWrites> {
 public:
  // Begins the run; `answer` is called once. `releases` and `turns` must outlive it. `timeout`: for binding
  // conditions.
  static void Start(framework::Handle& handle, const ClaimReleases& releases, ClaimTurns& turns,
                    const framework::Placement& placement, DevicesOfPodPtr pod, Duration timeout,
                    std::stop_token stop, framework::StatusCallback answer);

  ClaimWrites(framework::Handle& handle, const ClaimReleases& releases, ClaimTurns& turns,
              const framework::Placement& placement, DevicesOfPodPtr pod, Duration timeout,
              std::stop_token stop, framework::StatusCallback answer);

 private:
  using Change = ports::ClaimChange;

  void Next();
  // Creates the special claim.
  void Create();
  void Created(const ports::CreatedClaim& created);
  // Writes the special claim into the status of the pod.
  void WriteToPod();
  bool IsReserved(const api::ResourceClaim& claim) const;
  // Whether a reservation of the claim is being removed.
  bool IsBeingReleased(const DeviceClaim& claim) const;
  void AwaitRelease();
  void TakeTurn();
  // The claim at next_ needs no more writes.
  void EndClaim();
  void EndTurn();
  // Writes the claim at next_; `claim` is its newest known version.
  void Write(const ResourceClaimPtr& claim);
  void SetFinalizers(const ResourceClaimPtr& claim);
  void Reserve(const ResourceClaimPtr& claim);
  void Send(const ResourceClaimPtr& claim, decltype(Change::change) change,
            std::function<void(std::string version)> done, std::string_view context);
  void OnError(const ResourceClaimPtr& claim, Error error);
  void Retry(std::string error);
  void AwaitNewer(const ResourceClaimPtr& claim, int looks);
  void WriteNewest();
  ResourceClaimPtr Newest() const;
  void Reserved(const ResourceClaimPtr& claim, std::string version);
  void WaitForDevices();
  void CheckDevices(Duration waited);
  void EndWait(WaitOutcome outcome, framework::Status status);
  void Finish(framework::Status status);

  framework::Handle& handle_;
  const ClaimReleases& releases_;
  ClaimTurns& turns_;
  const framework::Placement placement_;
  const DevicesOfPodPtr pod_;
  const Duration timeout_;
  const std::stop_token stop_;
  framework::StatusCallback answer_;  // empty after the end
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
  std::size_t next_ = 0;  // index of the claim
  std::string turn_;      // UID of the claim that this run may write; empty: none, or one that only it has
  int tries_ = 0;         // of this claim
  // A write of this claim's allocation may have taken effect. The run then ends only when that is known, even
  // if it is to stop.
  bool uncertain_ = false;
  WallTime wait_began_{};  // for binding conditions
};

}  // namespace berth::plugins
