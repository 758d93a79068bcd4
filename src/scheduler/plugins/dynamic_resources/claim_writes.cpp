#include "scheduler/plugins/dynamic_resources/claim_writes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/devices/cluster_devices.hpp"

namespace berth::plugins {
namespace {

using api::ResourceClaim;
using framework::Status;

constexpr int kTriesMax = 5;
// After a conflict the newer version arrives by the watch.
constexpr Duration kBetweenTries = std::chrono::milliseconds(10);
constexpr Duration kBetweenChecks = std::chrono::seconds(5);

// A copy with another resource version.
std::shared_ptr<ResourceClaim> Updated(const ResourceClaim& claim, std::string version) {
  auto copy = std::make_shared<ResourceClaim>(claim);
  copy->metadata.resource_version = std::move(version);
  return copy;
}

ResourceClaim::Consumer ConsumerOf(const api::Pod& pod) {
  return {"", "pods", pod.metadata.name, pod.metadata.uid};
}

}  // namespace

ClaimWrites::ClaimWrites(framework::Handle& handle, const framework::Placement& placement,
                         DevicesOfPodPtr pod, Duration timeout, std::stop_token stop,
                         framework::StatusCallback answer)
    : handle_(handle),
      placement_(placement),
      pod_(std::move(pod)),
      timeout_(timeout),
      stop_(std::move(stop)),
      answer_(std::move(answer)) {}

void ClaimWrites::Start(framework::Handle& handle, const framework::Placement& placement, DevicesOfPodPtr pod,
                        Duration timeout, std::stop_token stop, framework::StatusCallback answer) {
  std::make_shared<ClaimWrites>(handle, placement, std::move(pod), timeout, std::move(stop),
                                std::move(answer))
      ->Next();
}

void ClaimWrites::Finish(Status status) {
  on_stop_.reset();
  std::exchange(answer_, nullptr)(std::move(status));
}

// --- writes, one claim after the other ---

void ClaimWrites::Next() {
  while (next_ < pod_->claims.size() && IsDone(pod_->claims[next_])) ++next_;
  if (next_ == pod_->claims.size()) return WaitForDevices();
  tries_ = 0;
  pod_->claims[next_].in_memory ? Create() : Write(pod_->claims[next_].object);
}

bool ClaimWrites::IsDone(const DeviceClaim& claim) const {
  // The device plugin of the node provides all extended resources.
  if (claim.special && claim.allocation == nullptr && claim.object->requests.empty()) return true;
  return IsReservedFor(*claim.object, *placement_.pod.pod);
}

void ClaimWrites::Create() {
  if (stop_.stop_requested()) return Finish(Status::Error("context canceled"));
  const api::ObjectMeta& pod = placement_.pod.pod->metadata;
  const std::string ns = pod.ns.str();
  handle_.api.CreateClaim(
      {ns, pod.name + "-extended-resources-", pod.name, pod.uid, pod_->reserved->special->requests},
      [self = shared_from_this(), post = handle_.loop.poster()](Expected<ports::CreatedClaim> created) {
        post([self, created = std::move(created)] {
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

void ClaimWrites::Write(const ResourceClaimPtr& claim) {
  if (stop_.stop_requested()) return Finish(Status::Error("context canceled"));
  const std::string key = claim->metadata.Key();
  if (claim->metadata.deleting())
    return Finish(Status::Error(fmt::format("claim {} got deleted in the meantime", key)));
  const bool allocates = pod_->claims[next_].allocation != nullptr;
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
      *claim, change,
      [this, claim, finalizers = change.finalizers](std::string version) {
        const auto updated = Updated(*claim, std::move(version));
        updated->finalizers = finalizers;
        pod_->claims[next_].object = updated;
        Reserve(updated);
      },
      "add finalizer to claim");
}

void ClaimWrites::Reserve(const ResourceClaimPtr& claim) {
  Change::Reserve change{pod_->claims[next_].allocation, false, claim->reserved_for};
  change.consumers.push_back(ConsumerOf(*placement_.pod.pod));
  change.set_timestamp = handle_.devices.features().binding_conditions &&
                         (change.allocation != nullptr || claim->allocation->timestamp.empty());
  const std::string_view context =
      change.allocation != nullptr ? "add allocation and reservation to claim" : "add reservation to claim";
  Send(
      *claim, std::move(change), [this, claim](std::string version) { Reserved(claim, std::move(version)); },
      context);
}

// Calls done(new resource version), or retries after a conflict, or ends with an error.
void ClaimWrites::Send(const ResourceClaim& claim, decltype(Change::change) change,
                       std::function<void(std::string)> done, std::string_view context) {
  const api::ObjectMeta& meta = claim.metadata;
  handle_.api.ChangeClaim(
      {meta.ns.str(), meta.name, meta.resource_version, std::move(change)},
      [self = shared_from_this(), post = handle_.loop.poster(), done = std::move(done),
       context = fmt::format("{} {}", context, meta.Key())](Expected<std::string> version) {
        post([self, done, context, version = std::move(version)]() mutable {
          if (version) return done(*std::move(version));
          const bool conflict = version.error().code == ErrorCode::kConflict;
          std::string error = fmt::format("{}: {}", context, version.error().message);
          conflict ? self->Retry(std::move(error)) : self->Finish(Status::Error(std::move(error)));
        });
      });
}

// Another client has changed the claim: tries again with the version that the watch has delivered by then.
void ClaimWrites::Retry(std::string error) {
  if (++tries_ >= kTriesMax) return Finish(Status::Error(std::move(error)));
  handle_.loop.PostAfter(kBetweenTries, [self = shared_from_this()] {
    const api::ObjectMeta& meta = self->pod_->claims[self->next_].object->metadata;
    const auto newest = self->handle_.objects.Of<ResourceClaim>().Find(meta.ns, meta.name);
    const bool gone = newest == nullptr || newest->metadata.uid != meta.uid;
    // The watch has not delivered the new claim yet.
    if (gone && self->pod_->claims[self->next_].special)
      return self->Write(self->pod_->claims[self->next_].object);
    if (gone)
      return self->Finish(Status::Error(fmt::format("claim {} got deleted in the meantime", meta.Key())));
    self->Write(newest);
  });
}

void ClaimWrites::Reserved(const ResourceClaimPtr& claim, std::string version) {
  DeviceClaim& entry = pod_->claims[next_];
  const auto updated = Updated(*claim, std::move(version));
  updated->reserved_for.push_back(ConsumerOf(*placement_.pod.pod));
  if (entry.allocation != nullptr) {
    updated->allocation = *entry.allocation;
    handle_.devices.allocated().MarkWritten(updated->metadata.uid, updated->metadata.resource_version);
  }
  entry.object = updated;  // Unreserve releases what is written
  entry.special ? WriteToPod() : Next();
}

void ClaimWrites::WriteToPod() {
  const api::PodPtr& pod = placement_.pod.pod;
  ports::PodStatusPatch patch{
      .ns = pod->metadata.ns.str(), .name = pod->metadata.name, .type = "", .current = pod};
  patch.extended_resource_claim = {pod_->claims[next_].object->metadata.name, pod_->reserved->mappings};
  handle_.api.PatchPodStatus(
      std::move(patch), [self = shared_from_this(), post = handle_.loop.poster()](Expected<void> result) {
        post([self, result = std::move(result)] {
          if (result) return self->Next();
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
  // The stop request arrives on this thread, possibly during another operation.
  on_stop_.emplace(stop_, [weak = weak_from_this(), post = handle_.loop.poster()] {
    post([weak] {
      const auto self = weak.lock();
      if (self && self->answer_) self->Finish(Status::Error("context canceled"));
    });
  });
  CheckDevices(Duration{});
}

void ClaimWrites::CheckDevices(Duration waited) {
  if (!answer_) return;  // stopped in the meantime
  if (waited >= timeout_) return Finish(Status::Error("device binding timeout: context deadline exceeded"));
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
    if (newest == nullptr)
      return Finish(Status::Error(fmt::format("could not find ResourceClaim \"{}\"", meta.Key())));
    const BindingConditions conditions = ConditionsOf(*newest);
    if (conditions.state == BindingConditions::State::kFailed)
      return Finish(Status::Error(conditions.failure));
    if (conditions.state == BindingConditions::State::kReady) continue;
    if (HasLapsed(*newest, handle_.loop.WallNow() - timeout_))
      return Finish(Status::Error("device binding timeout: claim=" + meta.name));
    ready = false;
    break;
  }
  if (ready) return Finish({});
  const Duration step = std::min(kBetweenChecks, timeout_ - waited);
  handle_.loop.PostAfter(step,
                         [self = shared_from_this(), waited, step] { self->CheckDevices(waited + step); });
}

}  // namespace berth::plugins
