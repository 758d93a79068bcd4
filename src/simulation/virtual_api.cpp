#include "simulation/virtual_api.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "kubernetes/api/claim_names.hpp"

namespace berth::simulation {
namespace {

const api::Text& Running() {
  static const api::Text kRunning("Running");
  return kRunning;
}

std::string KeyOf(std::string_view ns, std::string_view name) {
  if (ns.empty()) return std::string(name);
  std::string key;
  key.reserve(ns.size() + 1 + name.size());
  return key.append(ns).append(1, '/').append(name);
}

std::unexpected<Error> NotSimulated(std::string_view what) {
  return Fail(ErrorCode::kInvalid, fmt::format("{} are not simulated", what));
}

// Sets the condition; returns whether anything has changed.
bool SetCondition(api::PodStatus& status, const ports::PodStatusPatch& patch) {
  if (patch.reason.empty()) return false;
  const auto& conditions = std::as_const(status.conditions);
  const auto same = std::ranges::find(conditions, patch.type, &api::PodCondition::type);
  const api::PodCondition condition{.type = patch.type,
                                    .status = patch.status,
                                    .reason = patch.reason,
                                    .message = patch.message,
                                    .last_transition_time = {},
                                    .observed_generation = patch.observed_generation};
  if (same == conditions.end()) {
    status.conditions.push_back(condition);
    return true;
  }
  if (*same == condition) return false;
  status.conditions[static_cast<std::size_t>(same - conditions.begin())] = condition;
  return true;
}

// The API server's condition of a bound pod. Nearly all pods share one list.
void SetScheduled(api::PodStatus& status, std::int64_t now) {
  static const api::CowList<api::PodCondition> kScheduled{
      {.type = "PodScheduled", .status = "True", .reason = {}, .message = {}, .last_transition_time = {}}};
  status.scheduled_time = now;
  api::CowList<api::PodCondition> conditions = kScheduled;
  for (const api::PodCondition& condition : std::as_const(status.conditions)) {
    if (condition.type != "PodScheduled") conditions.push_back(condition);
  }
  status.conditions = std::move(conditions);
}

void ApplyTo(const ports::ClaimChange::SetFinalizers& change, const std::string&, api::ResourceClaim& claim) {
  claim.finalizers = change.finalizers;
}
void ApplyTo(const ports::ClaimChange::Reserve& change, const std::string& now, api::ResourceClaim& claim) {
  if (change.allocation != nullptr && !claim.allocation) claim.allocation = *change.allocation;
  if (change.set_timestamp && claim.allocation) {
    api::ResourceClaim::Allocation allocation = *claim.allocation;
    allocation.timestamp = now;
    claim.allocation = std::move(allocation);
  }
  claim.reserved_for = change.consumers;
}
void ApplyTo(const ports::ClaimChange::Deallocate&, const std::string&, api::ResourceClaim& claim) {
  claim.allocation = {};
  claim.reserved_for.clear();
  claim.device_statuses.clear();
}
void ApplyTo(const ports::ClaimChange::Release& change, const std::string&, api::ResourceClaim& claim) {
  std::erase_if(claim.reserved_for, [&](const auto& each) { return each.uid == change.consumer_uid; });
}

}  // namespace

VirtualApi::VirtualApi(VirtualTime& time, const Latencies& latencies, ports::ClusterSink& sink)
    : time_(time), latencies_(latencies), sink_(sink), termination_([this](const api::Pod& pod) {
        return std::optional(pod.spec.node_name.empty() ? Duration::zero() : latencies_.termination);
      }) {}

void VirtualApi::Publish(ports::ClusterChange change) {
  published_.push_back(std::move(change));
  time_.After(latencies_.watch, [this] {
    sink_.On(std::move(published_.front()));
    published_.pop_front();
  });
}

// --- other clients ---

api::PodPtr VirtualApi::CreatePod(api::Pod&& pod) {
  pod.metadata.resource_version = NextVersion();
  auto shared = std::make_shared<const api::Pod>(std::move(pod));
  const bool is_new = ObjectsOf<api::Pod>().insert(Stored<api::Pod>{shared}).second;
  BERTH_CHECK(is_new, shared->metadata.name);
  Publish(ports::Change<api::Pod>{nullptr, shared});
  return shared;
}

void VirtualApi::UpdatePod(api::Pod pod) {
  const auto current = Find<api::Pod>(pod.metadata.Key());
  BERTH_CHECK(current != nullptr && current->metadata.uid == pod.metadata.uid, pod.metadata.name);
  pod.metadata.resource_version = NextVersion();
  Store<api::Pod>(std::make_shared<const api::Pod>(std::move(pod)));
}

void VirtualApi::TerminatePod(const std::string& key) {
  const api::PodPtr pod = Find<api::Pod>(key);
  if (pod != nullptr && !pod->metadata.deleting()) Terminate(pod);
}

void VirtualApi::RemovePod(const ObjectName& name, std::string_view uid) {
  auto& pods = ObjectsOf<api::Pod>();
  const auto found = pods.find(name);
  if (found == pods.end() || found->object->metadata.uid != uid) return;
  const api::PodPtr pod = found->object;
  pods.erase(found);
  Publish(ports::Change<api::Pod>{pod, nullptr});
  RemoveClaimsOf(uid);
  ReleaseClaimsOf(*pod);
  if (observer_ != nullptr) observer_->OnPodRemoved(pod);
}

void VirtualApi::CreateClaimFor(const api::ObjectMeta& pod, api::ResourceClaim claim) {
  claim.metadata.controller = api::OwnerReference{"v1", "Pod", pod.name, pod.uid};
  const std::string key = claim.metadata.Key();
  BERTH_CHECK(Find<api::ResourceClaim>(key) == nullptr, key);
  claims_of_[pod.uid].push_back(key);
  Put(std::move(claim));
}

// `pod_uid` may refer to the pod that is removed.
void VirtualApi::RemoveClaimsOf(std::string_view pod_uid) {
  const auto found = claims_of_.find(pod_uid);
  if (found == claims_of_.end()) return;
  const std::vector<std::string> keys = std::move(found->second);
  claims_of_.erase(found);
  for (const std::string& key : keys) Remove<api::ResourceClaim>(key);
}

void VirtualApi::ReleaseClaimsOf(const api::Pod& pod) {
  if (std::get<Objects<api::ResourceClaim>>(objects_).empty()) return;
  for (const std::string& name : api::ClaimNamesOf(pod)) {
    const std::string key = KeyOf(pod.metadata.ns, name);
    const auto claim = Find<api::ResourceClaim>(key);
    if (claim == nullptr) continue;
    if (claim->metadata.controller && claim->metadata.controller->uid == pod.metadata.uid) {
      Remove<api::ResourceClaim>(key);
      continue;
    }
    api::ResourceClaim released = *claim;
    if (std::erase_if(released.reserved_for,
                      [&](const auto& consumer) { return consumer.uid == pod.metadata.uid; }) == 0)
      continue;
    if (released.reserved_for.empty()) released.allocation = {};
    Put(std::move(released));
  }
}

// --- the scheduler ---

void VirtualApi::Bind(ports::Binding binding, ports::WriteDone done) {
  time_.After(latencies_.bind, [this, binding = std::move(binding), done = std::move(done)]() mutable {
    done(ApplyBinding(binding));
  });
}

void VirtualApi::PatchPodStatus(ports::PodStatusPatch patch, ports::WriteDone done) {
  time_.After(latencies_.patch, [this, patch = std::move(patch), done = std::move(done)]() mutable {
    done(ApplyPatch(patch));
  });
}

void VirtualApi::DeletePod(ports::PodDeletion deletion, ports::WriteDone done) {
  time_.After(latencies_.remove, [this, deletion = std::move(deletion), done = std::move(done)]() mutable {
    done(ApplyDeletion(deletion));
  });
}

void VirtualApi::PatchPodGroupStatus(ports::PodGroupStatusPatch patch, ports::WriteDone done) {
  time_.After(latencies_.patch, [this, patch = std::move(patch), done = std::move(done)]() mutable {
    const auto current = Find<api::PodGroup>(patch.current->metadata.Key());
    if (current == nullptr) return done(Fail(ErrorCode::kNotFound, "the pod group no longer exists"));
    api::PodGroup changed = *current;
    const auto same =
        std::ranges::find(changed.conditions, patch.condition.type, &api::PodGroupCondition::type);
    if (same == changed.conditions.end()) {
      changed.conditions.push_back(patch.condition);
    } else if (*same == patch.condition) {
      return done({});
    } else {
      *same = patch.condition;
    }
    Put(std::move(changed));
    done({});
  });
}

void VirtualApi::ClaimVolume(ports::VolumeClaimed, ports::VersionDone done) { done(NotSimulated("volumes")); }
void VirtualApi::SelectNode(ports::NodeSelected, ports::VersionDone done) { done(NotSimulated("volumes")); }

void VirtualApi::ChangeClaim(ports::ClaimChange change, ports::VersionDone done) {
  time_.After(latencies_.patch, [this, change = std::move(change), done = std::move(done)]() mutable {
    done(ApplyChange(change));
  });
}

void VirtualApi::CreateClaim(ports::NewClaim claim, ports::ClaimDone done) {
  time_.After(latencies_.patch, [this, claim = std::move(claim), done = std::move(done)]() mutable {
    done(ApplyCreation(claim));
  });
}

void VirtualApi::DeleteClaim(ports::ClaimDeletion deletion, ports::WriteDone done) {
  time_.After(latencies_.remove, [this, deletion = std::move(deletion), done = std::move(done)]() mutable {
    done(ApplyDeletion(deletion));
  });
}

void VirtualApi::Emit(ports::Event event) {
  if (observer_ != nullptr) observer_->OnEvent(event);
}

// --- execution ---

Expected<void> VirtualApi::Check(const api::PodPtr& pod, std::string_view name, std::string_view uid) {
  if (pod == nullptr) return Fail(ErrorCode::kNotFound, fmt::format("pods \"{}\" not found", name));
  if (!uid.empty() && pod->metadata.uid != uid) {
    return Fail(ErrorCode::kConflict,
                fmt::format("pod {} has UID {}, expected {}", pod->metadata.Key(), pod->metadata.uid, uid));
  }
  return {};
}

Expected<api::PodPtr> VirtualApi::FindPod(std::string_view ns, std::string_view name,
                                          std::string_view uid) const {
  api::PodPtr pod = Find<api::Pod>(ObjectName{ns, name});
  BERTH_RETURN_IF_ERROR(Check(pod, name, uid));
  return pod;
}

// One search for the read and the write: this is most of what a placement costs here.
Expected<void> VirtualApi::ApplyBinding(const ports::Binding& binding) {
  auto& pods = ObjectsOf<api::Pod>();
  const auto found = pods.find(ObjectName{binding.ns, binding.name});
  BERTH_RETURN_IF_ERROR(Check(found == pods.end() ? nullptr : found->object, binding.name, binding.uid));
  const api::PodPtr pod = found->object;
  if (!pod->spec.node_name.empty() || pod->metadata.deleting()) {
    return Fail(ErrorCode::kConflict,
                fmt::format("pod {} is being deleted or already assigned to node \"{}\"", pod->metadata.Key(),
                            pod->spec.node_name.str()));
  }
  auto bound = std::make_shared<api::Pod>(*pod);
  bound->metadata.resource_version = NextVersion();
  bound->spec.node_name = NodeName(binding.node);
  bound->status.phase = Running();
  bound->status.start_time =
      std::chrono::duration_cast<std::chrono::seconds>(time_.clock().WallNow().time_since_epoch()).count();
  SetScheduled(bound->status, bound->status.start_time);
  ++bindings_;
  const api::PodPtr shared = std::move(bound);
  found->object = shared;
  Publish(ports::Change<api::Pod>{pod, shared});
  if (observer_ != nullptr) observer_->OnBound(shared);
  return {};
}

Expected<void> VirtualApi::ApplyPatch(const ports::PodStatusPatch& patch) {
  BERTH_TRY(const api::PodPtr pod, FindPod(patch.ns, patch.name, {}));
  api::Pod changed = *pod;
  bool differs = SetCondition(changed.status, patch);
  if (patch.nomination && *patch.nomination != changed.status.nominated_node_name) {
    changed.status.nominated_node_name = *patch.nomination;
    differs = true;
  }
  if (patch.extended_resource_claim) {
    changed.status.extended_resource_claim = *patch.extended_resource_claim;
    differs = true;
  }
  if (!differs) return {};
  changed.metadata.resource_version = NextVersion();
  Store<api::Pod>(std::make_shared<const api::Pod>(std::move(changed)));
  return {};
}

Expected<void> VirtualApi::ApplyDeletion(const ports::PodDeletion& deletion) {
  BERTH_TRY(const api::PodPtr pod, FindPod(deletion.ns, deletion.name, deletion.uid));
  if (pod->metadata.deleting()) return {};
  if (observer_ != nullptr) observer_->OnPreempted(pod);
  Terminate(pod);
  return {};
}

void VirtualApi::Terminate(const api::PodPtr& pod) {
  const std::string key = pod->metadata.Key();
  const auto time = termination_(*pod);
  if (time == Duration::zero()) return RemovePod(key, pod->metadata.uid);
  api::Pod changed = *pod;
  changed.metadata.resource_version = NextVersion();
  changed.metadata.deletion_timestamp = FormatTime(time_.clock().WallNow());
  Store<api::Pod>(std::make_shared<const api::Pod>(std::move(changed)));
  if (time) time_.After(*time, [this, key, uid = pod->metadata.uid] { RemovePod(key, uid); });
}

Expected<std::string> VirtualApi::ApplyChange(const ports::ClaimChange& change) {
  const auto current = Find<api::ResourceClaim>(KeyOf(change.ns, change.name));
  if (current == nullptr)
    return Fail(ErrorCode::kNotFound, fmt::format("resourceclaims \"{}\" not found", change.name));
  const auto* release = std::get_if<ports::ClaimChange::Release>(&change.change);
  const bool same = release != nullptr ? release->claim_uid == current->metadata.uid
                                       : change.resource_version == current->metadata.resource_version;
  if (!same) {
    return Fail(ErrorCode::kConflict, fmt::format("resourceclaim {} has changed since version {}",
                                                  current->metadata.Key(), change.resource_version));
  }
  api::ResourceClaim claim = *current;
  const std::string now = FormatTime(time_.clock().WallNow());
  std::visit([&](const auto& each) { ApplyTo(each, now, claim); }, change.change);
  const std::string key = claim.metadata.Key();
  Put(std::move(claim));
  return Find<api::ResourceClaim>(key)->metadata.resource_version;
}

Expected<ports::CreatedClaim> VirtualApi::ApplyCreation(const ports::NewClaim& wanted) {
  BERTH_TRY(const api::PodPtr pod, FindPod(wanted.ns, wanted.pod_name, wanted.pod_uid));
  api::ResourceClaim claim;
  claim.metadata.ns = wanted.ns;
  claim.metadata.name = fmt::format("{}{}", wanted.generate_name, ++created_claims_);
  claim.metadata.uid = "claim-" + claim.metadata.Key();
  claim.for_extended_resources = true;
  claim.requests = wanted.requests;
  const std::string key = claim.metadata.Key();
  CreateClaimFor(pod->metadata, std::move(claim));
  const auto created = Find<api::ResourceClaim>(key);
  return ports::CreatedClaim{created->metadata.name, created->metadata.uid,
                             created->metadata.resource_version};
}

Expected<void> VirtualApi::ApplyDeletion(const ports::ClaimDeletion& deletion) {
  const std::string key = KeyOf(deletion.ns, deletion.name);
  const auto claim = Find<api::ResourceClaim>(key);
  if (claim == nullptr || claim->metadata.uid != deletion.uid)
    return Fail(ErrorCode::kNotFound, fmt::format("resourceclaims \"{}\" not found", deletion.name));
  Remove<api::ResourceClaim>(key);
  return {};
}

api::Text VirtualApi::NodeName(const std::string& name) {
  api::Text& text = node_names_[name];
  if (text.empty()) text = name;
  return text;
}

}  // namespace berth::simulation
