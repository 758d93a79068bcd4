// Allocates devices to the resource claims of pods (dynamic resource allocation), as in kube-scheduler
// v1.37.1.
//
// A pod that requests extended resources which DeviceClasses provide gets a special claim for them, on nodes
// whose device plugins do not offer them (special_claim.hpp).
//
// Members of a pod group share the allocations that earlier members have reserved in the same cycle of the
// group. With the feature gate DRAWorkloadResourceClaims a group has claims of its own (group_claims.hpp).
//
// Not implemented: the alpha gates that devices/inventory.hpp names.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "base/text_map.hpp"
#include "kubernetes/api/claim_names.hpp"
#include "scheduler/framework/allocation_preview.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/filter_outcome.hpp"
#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/framework/rejection_details.hpp"
#include "scheduler/plugins/dynamic_resources/pod_claims.hpp"

namespace berth::plugins {

// DynamicResourcesArgs (kubescheduler.config.k8s.io/v1).
struct DynamicResourcesArgs {
  std::optional<Duration> filter_timeout;   // absent: the gate is off; 0: no limit
  std::optional<Duration> binding_timeout;  // absent: the gates are off
};

// Checks the arguments strictly, with kube-scheduler's error texts.
Expected<DynamicResourcesArgs> ParseDynamicResourcesArgs(const framework::RawArgs& args,
                                                         const config::FeatureGates& gates);
config::ArgsCodec DynamicResourcesArgsCodec();

class ClaimReleases;
class ClaimTurns;

class DynamicResources final : public framework::PreEnqueuePlugin,
                               public framework::PreFilterPlugin,
                               public framework::FilterPlugin,
                               public framework::RejectionDetailsPlugin,
                               public framework::PostFilterPlugin,
                               public framework::PodGroupPostFilterPlugin,
                               public framework::ScorePlugin,
                               public framework::ReservePlugin,
                               public framework::AllocationPreviewPlugin,
                               public framework::PreBindPlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& args, framework::Handle& handle);
  DynamicResources(const DynamicResourcesArgs& args, framework::Handle& handle);
  ~DynamicResources() override;

  std::string_view Name() const override { return "DynamicResources"; }
  bool StateIsDerived() const override { return true; }
  std::vector<framework::EventRegistration> EventsToRegister() const override;
  framework::Status PreEnqueue(const cluster::PodInfo& pod) const override;
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  // Counts the devices of each request by what excludes them (rejection_details.cpp).
  std::vector<framework::RejectionDetail> RejectionDetails(const framework::Attempt& attempt,
                                                           const RowSet& rejected) const override;
  // If devices of an allocated claim are not usable, deallocates one claim that only this pod uses. Else
  // deletes the special claim of an earlier attempt.
  framework::PostFilterResult PostFilter(const framework::Attempt& attempt,
                                         const framework::FilterOutcome& verdicts,
                                         framework::PostFilterServices& services) override;
  // Also removes the reservations that earlier attempts have left to members which fit on a node.
  framework::GroupPostFilterResult PodGroupPostFilter(const framework::QueuedGroup& group,
                                                      framework::GroupPostFilterServices& services) override;
  // Prefers nodes on which the first alternatives of requests are available. The scores are normalized
  // already.
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  // All nodes get the same score if the pod has no claims.
  framework::ResultDependency ScoreDependency(const cluster::PodInfo& pod) const override;
  framework::Normalization normalization() const override { return framework::Normalization::kNone; }
  framework::Status Reserve(const framework::Placement& placement) override;
  // In the cycle of a group nothing is written, unlike in kube-scheduler.
  void Unreserve(const framework::Placement& placement) override;
  Expected<std::vector<framework::PreviewedAllocation>> PreviewAllocations(
      const framework::Placement& placement) const override;
  PreFlight PreBindPreFlight(const framework::Placement& placement) override;
  void PreBind(const framework::Placement& placement, std::stop_token stop,
               framework::StatusCallback answer) override;
  Duration LongestPreBind() const override;

 private:
  class Explanation;
  using Visit = std::function<void(const api::PodResourceClaim&, ResourceClaimPtr)>;
  // Calls visit for each claim of the pod. An error says why a claim is missing or unusable, with
  // kube-scheduler's text.
  Expected<void> ForEachClaim(const api::Pod& pod, const Visit& visit) const;
  Expected<ResourceClaimPtr> FindClaim(const api::Pod& pod, const api::PodResourceClaim& reference,
                                       api::ClaimStatusFinder& statuses) const;
  // Whether the claim is owned by the pod or by its group; if not, an error with kube-scheduler's text.
  Expected<void> CheckOwner(const api::ResourceClaim& claim, const api::Pod& pod) const;
  // Adds the pod's claims. An error has kube-scheduler's text.
  Expected<void> AddClaims(const api::Pod& pod, DevicesOfPod& devices) const;
  api::PodGroupPtr FindGroup(const std::string& ns, const std::string& name) const;
  // Whether the pod may be scheduled as far as this claim is concerned. Sets the nodes on which it is
  // available.
  framework::Status Check(const framework::Attempt& attempt, DeviceClaim& claim) const;
  framework::Status CheckUnallocated(const DeviceClaim& claim) const;
  framework::Status CheckClass(const std::string& name, const std::string& request) const;
  void CheckLapsed(DeviceClaim& claim) const;
  framework::Status Locate(const framework::Attempt& attempt,
                           const api::ResourceClaim::Allocation& allocation, DeviceClaim& claim) const;
  devices::Allocator MakeAllocator(const framework::CycleState& state, std::uint64_t steps) const;
  DevicesOfPod::Answer Ask(const framework::CycleState& state, DevicesOfPod& pod,
                           DevicesOfPod::Variant& variant, const devices::NodeDevices& node,
                           std::string& error) const;
  // The allocations of the pod's claims on the node of the placement.
  struct Allocations {
    const DevicesOfPod::Variant* variant = nullptr;  // null: there is nothing to allocate
    // Of the unallocated claims, in the order of the pod.
    std::vector<devices::AllocationPtr> allocations{};
  };
  Expected<Allocations> Allocate(const framework::Placement& placement, DevicesOfPod& pod) const;
  // The claims that were deallocated or deleted since the decision, by UID.
  using Deallocated = std::set<std::string, std::less<>>;
  framework::GroupPostFilterResult DeallocateForGroup(const framework::QueuedGroup& group,
                                                      framework::GroupPostFilterServices& services,
                                                      Deallocated& deallocated);
  // Deletes the pod's special claim and removes the pod from the consumers of the others, as far as they are
  // written and not deallocated.
  void RemoveReservations(const api::Pod& pod, const DevicesOfPod& devices, const Deallocated& deallocated);
  // Deallocates or deletes one claim of the pod, see PostFilter; nullopt: there is none.
  std::optional<framework::Status> ReleaseClaims(const api::Pod& pod, const framework::CycleState& state,
                                                 Deallocated& deallocated);
  // Deallocates one claim that only the group uses, or ends one of its reservations; nullopt: there is none.
  std::optional<framework::Status> ReleaseGroupClaims(const framework::QueuedGroup& group,
                                                      framework::GroupPostFilterServices& services,
                                                      Deallocated& deallocated);
  void Deallocate(const api::ResourceClaim& claim, Deallocated& deallocated);
  // Adds the special claim if the pod needs one.
  void AddSpecialClaim(const cluster::PodInfo& pod, DevicesOfPod& devices) const;
  // What a node means for the special claim.
  struct OnNode {
    enum class Kind : std::uint8_t { kCannotFit, kNothing, kAllocates };
    Kind kind = Kind::kAllocates;
    DevicesOfPod::Variant* variant = nullptr;
    bool by_devices = false;  // devices provide some of the resources
  };
  OnNode Consider(const api::Pod& pod, DevicesOfPod& devices, const cluster::NodeTable& nodes,
                  cluster::Row row) const;
  // Rejects nodes because of extended resources, and removes those for which nothing is to be allocated.
  void FilterExtended(const framework::Attempt& attempt, DevicesOfPod& pod, RowSet& candidates,
                      framework::Rejections& out) const;
  const api::DeviceClass* FindClass(std::string_view name) const;
  bool WasSeen(const framework::CycleState& state) const { return state.Has(seen_); }
  framework::Hint AfterClaimChange(const api::Pod& waiting, const api::ResourceClaim* before,
                                   const api::ResourceClaim* after) const;

  framework::Handle& handle_;
  const DynamicResourcesArgs args_;
  const bool enabled_;
  const bool groups_have_claims_;
  const std::unique_ptr<devices::SelectorEvaluator> selectors_;
  // Of all profiles, also those of before a reload: a pod is retried in the new one while the end of its
  // reservation by the old one is on the way.
  struct Shared {
    std::shared_ptr<ClaimReleases> releases;
    std::unique_ptr<ClaimTurns> turns;
  };
  const std::shared_ptr<Shared> shared_;
  const framework::StateMark seen_;                 // set if PreFilter was called in this attempt
  const framework::StateKey<DevicesOfPodPtr> key_;  // only of pods with claims: others cost no allocation
  const framework::ReasonId impossible_, invalid_pools_, unavailable_, stale_, cannot_fit_;
  // The members that fit on a node in some placement of the current cycle of their group, by UID. The cycle
  // drops the states of placements that it does not choose.
  FlatTextMap<DevicesOfPodPtr> unreserved_;
  mutable std::uint64_t special_claims_ = 0;  // number of special claims so far, for their UIDs
};

}  // namespace berth::plugins
