#include "scheduler/plugins/dynamic_resources/claim_writes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kubernetes/api/resource_version.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/plugins/dynamic_resources/special_claim.hpp"

namespace berth::plugins {
namespace {

using api::ResourceClaim;
using framework::Status;

constexpr int kTriesMax = 5;
// After a conflict the newer version arrives by the watch.
constexpr Duration kBetweenTries = std::chrono::milliseconds(10);
constexpr Duration kBetweenChecks = std::chrono::seconds(5);

// While the outcome of a write is unknown: between looks at the claim that the watch has delivered, and the
// looks before the write is repeated (after a second).
constexpr Duration kBetweenLooks = std::chrono::milliseconds(50);
constexpr int kLooksMax = 19;

// Whether a write that ended with this error may have taken effect, or may still.
bool OutcomeIsUnknown(ErrorCode code) {
  return code == ErrorCode::kAmbiguous || code == ErrorCode::kTimeout || code == ErrorCode::kInternal;
}

// A copy with another resource version.
std::shared_ptr<ResourceClaim> Updated(const ResourceClaim& claim, std::string version) {
  auto copy = std::make_shared<ResourceClaim>(claim);
  copy->metadata.resource_version = std::move(version);
  return copy;
}

bool IsNewer(const ResourceClaim& claim, const ResourceClaim& other) {
  return api::VersionNumber(claim.metadata.resource_version) >
         api::VersionNumber(other.metadata.resource_version);
}

// Whether another member of the group has written the allocation that this one has reserved, too.
bool HasSameDevices(const ResourceClaim::Allocation& written, const ResourceClaim::Allocation& reserved) {
  const auto same = [](const ResourceClaim::AllocatedDevice& a, const ResourceClaim::AllocatedDevice& b) {
    return a.request == b.request && a.driver == b.driver && a.pool == b.pool && a.device == b.device &&
           a.share_id == b.share_id;
  };
  return std::ranges::equal(written.devices, reserved.devices, same);
}

}  // namespace

ClaimWrites::ClaimWrites(framework::Handle& handle, const ClaimReleases& releases, ClaimTurns& turns,
                         const framework::Placement& placement, DevicesOfPodPtr pod, Duration timeout,
                         std::stop_token stop, framework::StatusCallback answer)
    : handle_(handle),
      releases_(releases),
      turns_(turns),
      placement_(placement),
      pod_(std::move(pod)),
      timeout_(timeout),
      stop_(std::move(stop)),
      answer_(std::move(answer)) {}

void ClaimWrites::Start(framework::Handle& handle, const ClaimReleases& releases, ClaimTurns& turns,
                        const framework::Placement& placement, DevicesOfPodPtr pod, Duration timeout,
                        std::stop_token stop, framework::StatusCallback answer) {
  std::make_shared<ClaimWrites>(handle, releases, turns, placement, std::move(pod), timeout, std::move(stop),
                                std::move(answer))
      ->Next();
}

void ClaimWrites::Finish(Status status) {
  on_stop_.reset();
  EndTurn();
  std::exchange(answer_, nullptr)(std::move(status));
}

// --- writes, one claim after the other ---

void ClaimWrites::Next() {
  for (; next_ < pod_->claims.size(); ++next_) {
    DeviceClaim& claim = pod_->claims[next_];
    // The device plugin of the node provides all extended resources.
    if (claim.special && claim.allocation == nullptr && claim.object->requests.empty()) continue;
    if (!IsReserved(*claim.object)) break;
    // Since PreFilter, the reservation of an earlier attempt may have been removed.
    if (IsBeingReleased(claim)) return AwaitRelease();
    if (ResourceClaimPtr newest = Newest(); newest != nullptr && IsNewer(*newest, *claim.object))
      claim.object = std::move(newest);
    if (!IsReserved(*claim.object)) break;
  }
  if (next_ == pod_->claims.size()) return WaitForDevices();
  tries_ = 0;
  uncertain_ = false;
  pod_->claims[next_].in_memory ? Create() : TakeTurn();
}

bool ClaimWrites::IsReserved(const ResourceClaim& claim) const {
  return IsReservedFor(claim, *placement_.pod.pod, pod_->group);
}

bool ClaimWrites::IsBeingReleased(const DeviceClaim& claim) const {
  const std::string& uid = claim.object->metadata.uid;
  return releases_.IsPending(uid, placement_.pod.pod->metadata.uid) ||
         releases_.IsPending(uid, claim.consumer.uid);
}

void ClaimWrites::TakeTurn() {
  const ResourceClaimPtr& known = pod_->claims[next_].object;
  const std::string& uid = known->metadata.uid;
  turns_.Take(uid, [self = shared_from_this(), known, uid](const ResourceClaimPtr& left) {
    self->turn_ = uid;
    self->Write(left != nullptr && IsNewer(*left, *known) ? left : known);
  });
}

void ClaimWrites::EndClaim() {
  EndTurn();
  ++next_;
  Next();
}

void ClaimWrites::EndTurn() {
  if (turn_.empty()) return;
  turns_.End(std::exchange(turn_, {}), pod_->claims[next_].object);
}

void ClaimWrites::Create() {
  if (stop_.stop_requested()) return Finish(Status::Error("context canceled"));
  const api::ObjectMeta& pod = placement_.pod.pod->metadata;
  const std::string ns = pod.ns.str();
  handle_.api.CreateClaim(
      {ns, pod.name + "-extended-resources-", pod.name, pod.uid, pod_->reserved->special->requests},
      [self = shared_from_this(), post = handle_.loop.poster()](Expected<ports::CreatedClaim> created) {
        post([self, created = std::move(created)] {
          CountClaimCreation(self->handle_, created.has_value());
          if (created) return self->Created(*created);
          self->Finish(Status::Error(fmt::format("create claim for extended resources {}: {}",
                                                 self->pod_->reserved->special->metadata.ns.str() + "/",
                                                 created.error().message)));
        });
      });
}

void ClaimWrites::Created(const ports::CreatedClaim& created) {
  DeviceClaim& entry = pod_->claims[next_];
  const auto claim = std::make_shared<ResourceClaim>(*pod_->reserved->special);
  claim->metadata.name = created.name;
  claim->metadata.uid = created.uid;
  claim->metadata.resource_version = created.resource_version;
  // From now on the devices are reserved under the UID that the watch reports.
  devices::AllocatedDevices& allocated = handle_.devices.allocated();
  allocated.AddPending(created.uid, entry.allocation);
  allocated.RemovePending(entry.object->metadata.uid);
  entry.object = claim;
  entry.in_memory = false;
  Write(claim);
}

void ClaimWrites::AwaitRelease() {
  if (stop_.stop_requested()) return Finish(Status::Error("context canceled"));
  handle_.loop.PostAfter(kBetweenLooks, [self = shared_from_this()] { self->Next(); });
}

void ClaimWrites::Write(const ResourceClaimPtr& claim) {
  if (stop_.stop_requested() && !uncertain_) return Finish(Status::Error("context canceled"));
  const std::string key = claim->metadata.Key();
  if (claim->metadata.deleting())
    return Finish(Status::Error(fmt::format("claim {} got deleted in the meantime", key)));
  DeviceClaim& entry = pod_->claims[next_];
  if (entry.allocation != nullptr && claim->allocation &&
      HasSameDevices(*claim->allocation, *entry.allocation))
    entry.allocation = nullptr;
  const bool allocates = entry.allocation != nullptr;
  if (!allocates && claim->allocation && IsReserved(*claim)) {
    entry.object = claim;  // for the group, by another member
    return EndClaim();
  }
  if (allocates && claim->allocation)
    return Finish(Status::Error(fmt::format("claim {} got allocated elsewhere in the meantime", key)));
  if (!allocates && !claim->allocation)
    return Finish(Status::Error(fmt::format("claim {} got deallocated elsewhere in the meantime", key)));
  const bool protects = std::ranges::find(claim->finalizers, kClaimFinalizer) != claim->finalizers.end();
  allocates && !protects ? SetFinalizers(claim) : Reserve(claim);
}

void ClaimWrites::SetFinalizers(const ResourceClaimPtr& claim) {
  Change::SetFinalizers change{claim->finalizers};
  change.finalizers.emplace_back(kClaimFinalizer);
  Send(
      claim, change,
      [this, claim, finalizers = change.finalizers](std::string version) {
        const auto updated = Updated(*claim, std::move(version));
        updated->finalizers = finalizers;
        pod_->claims[next_].object = updated;
        Reserve(updated);
      },
      "add finalizer to claim");
}

void ClaimWrites::Reserve(const ResourceClaimPtr& claim) {
  // Unreserve has taken the allocation back: the time limit of PreBind has passed.
  if (pod_->claims[next_].allocation == nullptr && !claim->allocation)
    return Finish(Status::Error("context canceled"));
  Change::Reserve change{pod_->claims[next_].allocation, false, claim->reserved_for};
  change.consumers.push_back(pod_->claims[next_].consumer);
  change.set_timestamp = handle_.devices.features().binding_conditions &&
                         (change.allocation != nullptr || claim->allocation->timestamp.empty());
  const std::string_view context =
      change.allocation != nullptr ? "add allocation and reservation to claim" : "add reservation to claim";
  Send(
      claim, std::move(change), [this, claim](std::string version) { Reserved(claim, std::move(version)); },
      context);
}

// Calls done(new resource version), or tries again after a conflict or with an unknown outcome, or ends with
// an error.
void ClaimWrites::Send(const ResourceClaimPtr& claim, decltype(Change::change) change,
                       std::function<void(std::string)> done, std::string_view context) {
  const api::ObjectMeta& meta = claim->metadata;
  const auto* reserve = std::get_if<Change::Reserve>(&change);
  const bool allocates = reserve != nullptr && reserve->allocation != nullptr;
  handle_.api.ChangeClaim(
      {meta.ns.str(), meta.name, meta.resource_version, std::move(change)},
      [self = shared_from_this(), post = handle_.loop.poster(), claim, allocates, done = std::move(done),
       context = fmt::format("{} {}", context, meta.Key())](Expected<std::string> version) {
        post([self, claim, allocates, done, context, version = std::move(version)]() mutable {
          if (version) return done(*std::move(version));
          Error error = std::move(version).error().In(context);
          self->uncertain_ = self->uncertain_ || (allocates && OutcomeIsUnknown(error.code));
          self->OnError(claim, std::move(error));
        });
      });
}

void ClaimWrites::OnError(const ResourceClaimPtr& claim, Error error) {
  const bool conflict = error.code == ErrorCode::kConflict;
  const bool is_final = error.code == ErrorCode::kCancelled || error.code == ErrorCode::kNotFound;
  if (uncertain_ && !is_final) return AwaitNewer(claim, kLooksMax);
  conflict ? Retry(std::move(error.message)) : Finish(Status::Error(std::move(error.message)));
}

// Another client has changed the claim: tries again with the version that the watch has delivered by then.
void ClaimWrites::Retry(std::string error) {
  if (++tries_ >= kTriesMax) return Finish(Status::Error(std::move(error)));
  handle_.loop.PostAfter(kBetweenTries, [self = shared_from_this()] { self->WriteNewest(); });
}

// --- writes with an unknown outcome ---
//
// The devices stay reserved until it is known whether the claim has them: otherwise they could be allocated
// to another claim, too.

// Waits until the watch has delivered a version after `claim`, possibly that of an earlier write of this run.
// After `looks` without one, the write is repeated: if an earlier one has taken effect, its precondition does
// not hold any more. Also after a conflict: an admission webhook can return one for a claim that has not
// changed, and then no newer version arrives.
void ClaimWrites::AwaitNewer(const ResourceClaimPtr& claim, int looks) {
  handle_.loop.PostAfter(kBetweenLooks, [self = shared_from_this(), claim, looks] {
    const ResourceClaimPtr newest = self->Newest();
    if (newest != nullptr && !IsNewer(*newest, *claim)) {
      if (looks == 0) return self->Reserve(claim);
      return self->AwaitNewer(claim, looks - 1);
    }
    self->uncertain_ = false;
    if (newest != nullptr && newest->allocation && self->IsReserved(*newest))
      return self->Reserved(newest, newest->metadata.resource_version);
    self->WriteNewest();
  });
}

void ClaimWrites::WriteNewest() {
  const ResourceClaimPtr newest = Newest();
  if (newest == nullptr) {
    const std::string key = pod_->claims[next_].object->metadata.Key();
    return Finish(Status::Error(fmt::format("claim {} got deleted in the meantime", key)));
  }
  Write(newest);
}

// The claim as the watch has delivered it; null if it was deleted. A special claim was created a moment ago:
// until the watch delivers it, the claim as it was written.
ResourceClaimPtr ClaimWrites::Newest() const {
  const DeviceClaim& entry = pod_->claims[next_];
  const api::ObjectMeta& meta = entry.object->metadata;
  ResourceClaimPtr newest = handle_.objects.Of<ResourceClaim>().Find(meta.ns, meta.name);
  if (newest != nullptr && newest->metadata.uid == meta.uid) return newest;
  return entry.special ? entry.object : nullptr;
}

void ClaimWrites::Reserved(const ResourceClaimPtr& claim, std::string version) {
  DeviceClaim& entry = pod_->claims[next_];
  const auto updated = Updated(*claim, std::move(version));
  if (!IsReserved(*updated)) updated->reserved_for.push_back(entry.consumer);
  if (entry.allocation != nullptr) {
    updated->allocation = *entry.allocation;
    handle_.devices.allocated().MarkWritten(updated->metadata.uid, updated->metadata.resource_version);
  }
  entry.object = updated;  // Unreserve releases what is written
  if (entry.special) return WriteToPod();
  EndClaim();
}

void ClaimWrites::WriteToPod() {
  // An allocated claim of an earlier attempt: only Filter rejects it, and the profile may disable Filter.
  if (pod_->reserved == nullptr || pod_->reserved->special == nullptr) {
    return Finish(Status::Error(
        fmt::format("nil or empty request mappings, no update of pod {} ExtendedResourceClaimStatus",
                    placement_.pod.key)));
  }
  const api::PodPtr& pod = placement_.pod.pod;
  auto mappings = MappingsOf(*pod, pod_->resources, pod_->reserved->by_devices);
  if (!mappings) {
    return Finish(Status::Error(fmt::format("update pod {} ExtendedResourceClaimStatus: {}",
                                            placement_.pod.key, mappings.error().message)));
  }
  ports::PodStatusPatch patch{
      .ns = pod->metadata.ns.str(), .name = pod->metadata.name, .type = "", .current = pod};
  patch.extended_resource_claim = {pod_->claims[next_].object->metadata.name, *std::move(mappings)};
  handle_.api.PatchPodStatus(
      std::move(patch), [self = shared_from_this(), post = handle_.loop.poster()](Expected<void> result) {
        post([self, result = std::move(result)] {
          if (result) return self->EndClaim();
          self->Finish(Status::Error(fmt::format("update pod {} ExtendedResourceClaimStatus: {}",
                                                 self->placement_.pod.key, result.error().message)));
        });
      });
}

// --- binding conditions ---

void ClaimWrites::WaitForDevices() {
  const bool waits = handle_.devices.features().binding_conditions &&
                     std::ranges::any_of(pod_->claims, [](const DeviceClaim& claim) {
                       return HasBindingConditions(*claim.object);
                     });
  if (!waits) return Finish({});
  handle_.events.Emit({.reason = "BindingConditionsPending",
                       .action = "Scheduling",
                       .note = "waiting for binding conditions for device on node " + placement_.node,
                       .controller = placement_.pod.pod->spec.scheduler_name,
                       .regarding = placement_.pod.pod});
  wait_began_ = handle_.loop.WallNow();
  // The stop request arrives on this thread, possibly during another operation.
  on_stop_.emplace(stop_, [weak = weak_from_this(), post = handle_.loop.poster()] {
    post([weak] {
      const auto self = weak.lock();
      if (self && self->answer_) self->EndWait(WaitOutcome::kError, Status::Error("context canceled"));
    });
  });
  CheckDevices(Duration{});
}

void ClaimWrites::CheckDevices(Duration waited) {
  if (!answer_) return;  // stopped in the meantime
  if (waited >= timeout_) {
    return EndWait(WaitOutcome::kTimeout, Status::Error("device binding timeout: context deadline exceeded"));
  }
  bool ready = true;
  for (DeviceClaim& claim : pod_->claims) {
    const api::ObjectMeta& meta = claim.object->metadata;
    if (claim.in_memory) continue;
    const auto newest = handle_.objects.Of<ResourceClaim>().Find(meta.ns, meta.name);
    // The watch has not delivered the new claim yet.
    const bool expected = newest == nullptr && claim.special && waited == Duration{};
    if (expected) {
      ready = false;
      break;
    }
    if (newest == nullptr) {
      return EndWait(WaitOutcome::kError,
                     Status::Error(fmt::format("could not find ResourceClaim \"{}\"", meta.Key())));
    }
    const BindingConditions conditions = ConditionsOf(*newest);
    if (conditions.state == BindingConditions::State::kFailed)
      return EndWait(WaitOutcome::kFailed, Status::Error(conditions.failure));
    if (conditions.state == BindingConditions::State::kReady) continue;
    if (HasLapsed(*newest, handle_.loop.WallNow() - timeout_))
      return EndWait(WaitOutcome::kTimeout, Status::Error("device binding timeout: claim=" + meta.name));
    ready = false;
    break;
  }
  if (ready) return EndWait(WaitOutcome::kReady, {});
  const Duration step = std::min(kBetweenChecks, timeout_ - waited);
  handle_.loop.PostAfter(step,
                         [self = shared_from_this(), waited, step] { self->CheckDevices(waited + step); });
}

void ClaimWrites::EndWait(WaitOutcome outcome, Status status) {
  ObserveWait(handle_, placement_.pod.pod->spec.scheduler_name, *pod_, outcome,
              std::chrono::duration_cast<Duration>(handle_.loop.WallNow() - wait_began_));
  Finish(std::move(status));
}

}  // namespace berth::plugins
