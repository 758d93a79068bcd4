#include "scheduler/plugins/dynamic_resources/dynamic_resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

#include "base/go_quote.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/plugins/dynamic_resources/claim_releases.hpp"
#include "scheduler/plugins/dynamic_resources/claim_turns.hpp"
#include "scheduler/plugins/dynamic_resources/claim_writes.hpp"
#include "scheduler/plugins/dynamic_resources/device_selectors.hpp"
#include "scheduler/plugins/dynamic_resources/group_claims.hpp"
#include "scheduler/plugins/dynamic_resources/special_claim.hpp"
#include "scheduler/plugins/node_affinity/matching_rows.hpp"

namespace berth::plugins {

using api::ResourceClaim;
using framework::Attempt;
using framework::Hint;
using framework::Placement;
using framework::Status;
using Outcome = devices::AllocationOutcome;

namespace {

// kube-scheduler's bindingTimeout where the argument is absent.
constexpr Duration kBindingTimeout = std::chrono::seconds(600);
constexpr const char* kNotFound = "claim allocation not found for node";
// What one second of filterTimeout allows. kube-scheduler measures time; a number of steps gives the same
// result in every run.
constexpr std::uint64_t kStepsPerSecond = 1'000'000;

std::uint64_t StepsOf(const DynamicResourcesArgs& args) {
  if (!args.filter_timeout || args.filter_timeout->count() == 0) return UINT64_MAX;
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(*args.filter_timeout).count();
  return static_cast<std::uint64_t>(milliseconds) * (kStepsPerSecond / 1000);
}

// The claim of a template was created for this object.
bool IsOwnedBy(const ResourceClaim& claim, const api::ObjectMeta& owner) {
  return claim.metadata.controller && claim.metadata.controller->uid == owner.uid;
}

// The claim is not reserved for another consumer.
bool IsOnlyFor(const ResourceClaim& claim, const std::string& consumer) {
  return claim.reserved_for.empty() ||
         (claim.reserved_for.size() == 1 && claim.reserved_for.front().uid == consumer);
}

// The pod's first reference to each claim.
using FirstReferences = boost::unordered_flat_map<const ResourceClaim*, const DeviceClaim*>;

// Whether the pod has a claim of this name. Each change of a claim is compared with all waiting pods: a
// look-up of each claim of each of them would take ten times as long.
bool NamesClaim(const api::Pod& pod, const api::ObjectMeta& claim) {
  if (pod.metadata.ns != claim.ns) return false;
  const auto named = [&](const auto& entry) { return entry.resource_claim_name == claim.name; };
  return std::ranges::any_of(pod.spec.resource_claims, named) ||
         std::ranges::any_of(pod.status.resource_claim_statuses, named);
}

bool SameStatus(const ResourceClaim& a, const ResourceClaim& b) {
  return a.allocation == b.allocation && a.reserved_for == b.reserved_for &&
         a.device_statuses == b.device_statuses;
}

}  // namespace

framework::PluginOrError DynamicResources::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const DynamicResourcesArgs args, ParseDynamicResourcesArgs(raw, handle.gates));
  return std::make_unique<DynamicResources>(args, handle);
}

DynamicResources::DynamicResources(const DynamicResourcesArgs& args, framework::Handle& handle)
    : handle_(handle),
      args_(args),
      enabled_(handle.gates.Enabled("DynamicResourceAllocation")),
      groups_have_claims_(handle.gates.Enabled("DRAWorkloadResourceClaims")),
      selectors_(MakeDeviceSelectors()),
      shared_(handle.Keep<Shared>("DynamicResources")),
      seen_(handle.NewMark()),
      key_(handle.NewKey<DevicesOfPodPtr>()),
      impossible_(handle.reasons.Intern("cannot allocate all claims")),
      invalid_pools_(handle.reasons.Intern("invalid resource pools were encountered")),
      unavailable_(handle.reasons.Intern("resourceclaim not available on the node")),
      stale_(handle.reasons.Intern("cannot schedule extended resource claim")),
      cannot_fit_(handle.reasons.Intern("cannot fit resource")) {
  if (shared_->releases != nullptr) return;
  shared_->releases = std::make_shared<ClaimReleases>(handle);
  shared_->turns = std::make_unique<ClaimTurns>(handle);
}

DynamicResources::~DynamicResources() = default;

// --- claims of a pod ---

Expected<void> DynamicResources::ForEachClaim(const api::Pod& pod, const Visit& visit) const {
  api::ClaimStatusFinder statuses(pod);
  for (const api::PodResourceClaim& reference : pod.spec.resource_claims) {
    BERTH_TRY(ResourceClaimPtr claim, FindClaim(pod, reference, statuses));
    if (claim != nullptr) visit(reference, std::move(claim));
  }
  return {};
}

// Null: the pod's template needed no claim.
Expected<ResourceClaimPtr> DynamicResources::FindClaim(const api::Pod& pod,
                                                       const api::PodResourceClaim& reference,
                                                       api::ClaimStatusFinder& statuses) const {
  const std::string& ns = pod.metadata.ns.str();
  const bool from_template = !reference.resource_claim_name;
  std::string name;
  if (reference.resource_claim_name) {
    name = *reference.resource_claim_name;
  } else if (reference.resource_claim_template_name) {
    const api::PodResourceClaimStatus* status = statuses.Find(reference.name);
    if (status == nullptr)
      return Invalid(fmt::format("pod \"{}\": ResourceClaim not created yet", pod.metadata.Key()));
    if (!status->resource_claim_name) return nullptr;
    name = *status->resource_claim_name;
  } else {
    return Invalid(fmt::format("pod \"{}\", spec.resourceClaim {}: none of the supported fields are set",
                               pod.metadata.Key(), GoQuote(reference.name)));
  }
  ResourceClaimPtr claim = handle_.objects.Of<ResourceClaim>().Find(ns, name);
  if (claim == nullptr) return Invalid(fmt::format("could not find ResourceClaim \"{}/{}\"", ns, name));
  if (claim->metadata.deleting())
    return Invalid(fmt::format("resourceclaim {} is being deleted", GoQuote(name)));
  if (from_template) {
    BERTH_RETURN_IF_ERROR(CheckOwner(*claim, pod));
  }
  return claim;
}

Expected<void> DynamicResources::CheckOwner(const ResourceClaim& claim, const api::Pod& pod) const {
  if (IsOwnedBy(claim, pod.metadata)) return {};
  const bool has_group = groups_have_claims_ && pod.spec.pod_group;
  if (has_group && IsOwnedByGroupOf(claim, pod)) return {};
  const std::string who = has_group
                              ? fmt::format("neither Pod nor PodGroup {} is the owner", *pod.spec.pod_group)
                              : "Pod is not owner";
  return Invalid(fmt::format("ResourceClaim {} was not created for Pod {} ({})", claim.metadata.Key(),
                             pod.metadata.Key(), who));
}

const api::DeviceClass* DynamicResources::FindClass(std::string_view name) const {
  return handle_.objects.Of<api::DeviceClass>().Find(name).get();
}

// --- before filters ---

Status DynamicResources::PreEnqueue(const cluster::PodInfo& pod) const {
  if (!enabled_ || pod.pod->spec.resource_claims.empty()) return {};
  const Expected<void> found = ForEachClaim(*pod.pod, [](const auto&, const auto&) {});
  return found ? Status::Success() : Status::Unresolvable(found.error().message);
}

framework::PreFilterResult DynamicResources::PreFilter(const Attempt& attempt) const {
  if (!enabled_) return {Status::Skip(), std::nullopt};
  const api::Pod& pod = *attempt.pod().pod;
  attempt.state().Mark(seen_);
  const bool may_be_special = handle_.devices.extended().any() && !attempt.pod().fit().scalars.empty();
  if (pod.spec.resource_claims.empty() && !may_be_special) return {Status::Skip(), std::nullopt};
  auto devices = std::make_shared<DevicesOfPod>();
  devices->steps_left = StepsOf(args_);
  if (const Expected<void> found = AddClaims(pod, *devices); !found)
    return {Status::Unresolvable(found.error().message), std::nullopt};
  if (may_be_special) AddSpecialClaim(attempt.pod(), *devices);
  if (devices->claims.empty()) return {Status::Skip(), std::nullopt};
  // A pod can reference one claim tens of thousands of times: its requests are checked and its nodes are
  // found once.
  FirstReferences checked;
  for (DeviceClaim& claim : devices->claims) {
    const DeviceClaim* first = &claim;
    if (devices->claims.size() > 1) first = checked.try_emplace(claim.object.get(), &claim).first->second;
    if (first != &claim) {
      claim.shared = first->shared;
    } else if (Status status = Check(attempt, claim); !status.ok()) {
      return {std::move(status), std::nullopt};
    }
    devices->allocates = devices->allocates || !claim.allocated();
  }
  attempt.state().Write(key_, std::move(devices));
  return {};
}

Expected<void> DynamicResources::AddClaims(const api::Pod& pod, DevicesOfPod& devices) const {
  if (groups_have_claims_ && pod.spec.pod_group) devices.group = *pod.spec.pod_group;
  std::vector<const api::PodResourceClaim*> references;
  BERTH_RETURN_IF_ERROR(
      ForEachClaim(pod, [&](const api::PodResourceClaim& reference, ResourceClaimPtr claim) {
        references.push_back(&reference);
        devices.claims.push_back({.object = std::move(claim), .consumer = ConsumerOf(pod)});
      }));
  if (devices.group.empty() || references.empty()) return {};
  const api::PodGroupPtr group = FindGroup(pod.metadata.ns.str(), devices.group);
  if (group == nullptr) {
    return Invalid(fmt::format("pod group object not found for pod group podgroup/{}/{}",
                               pod.metadata.ns.str(), devices.group));
  }
  for (std::size_t i = 0; i < references.size(); ++i) {
    BERTH_TRY(devices.claims[i].consumer, ConsumerOf(pod, *group, *references[i]));
  }
  return {};
}

// Dumps of clusters, whose pods are evaluated one by one, are only in the table of objects.
api::PodGroupPtr DynamicResources::FindGroup(const std::string& ns, const std::string& name) const {
  const api::PodGroupPtr followed = handle_.groups.FindObject(ns + "/" + name);
  return followed != nullptr ? followed : handle_.objects.Of<api::PodGroup>().Find(ns, name);
}

void DynamicResources::AddSpecialClaim(const cluster::PodInfo& pod, DevicesOfPod& devices) const {
  devices.resources = ResourcesWithClasses(pod, handle_);
  if (devices.resources.empty()) return;
  ResourceClaimPtr existing = handle_.devices.extended().ClaimOf(*pod.pod);
  const bool in_memory = existing == nullptr;
  if (in_memory) {
    existing = MakeSpecialClaim(
        *pod.pod, fmt::format("{}/extended-resources/{}", pod.pod->metadata.uid, ++special_claims_));
  }
  devices.claims.push_back({.object = std::move(existing),
                            .consumer = ConsumerOf(*pod.pod),
                            .special = true,
                            .in_memory = in_memory});
}

Status DynamicResources::Check(const Attempt& attempt, DeviceClaim& claim) const {
  if (claim.allocated()) {
    CheckLapsed(claim);
    return Locate(attempt, *claim.object->allocation, claim);
  }
  if (attempt.state().in_group_cycle)
    claim.shared = handle_.devices.allocated().SharedPendingOf(claim.object->metadata.uid);
  if (claim.shared != nullptr) return Locate(attempt, *claim.shared, claim);
  return CheckUnallocated(claim);
}

Status DynamicResources::CheckUnallocated(const DeviceClaim& of_pod) const {
  const ResourceClaim& claim = *of_pod.object;
  const std::string key = claim.metadata.Key();
  if (handle_.devices.allocated().PendingOf(claim.metadata.uid) != nullptr)
    return Status::Unresolvable(fmt::format("resource claim {} is in the process of being allocated", key));
  if (of_pod.special) return {};  // Filter rejects the nodes if it has requests
  for (const ResourceClaim::Request& request : claim.requests) {
    if (request.exactly) {
      if (Status status = CheckClass(request.exactly->device_class_name, request.name); !status.ok())
        return status;
      continue;
    }
    if (request.first_available.empty()) {
      return Status::Unresolvable(
          fmt::format("resource claim {}, request {}: unknown request type", key, request.name));
    }
    if (!handle_.devices.features().prioritized_list) {
      return Status::Unresolvable(fmt::format(
          "resource claim {}, request {}: has subrequests, but the DRAPrioritizedList feature is disabled",
          key, request.name));
    }
    for (const auto& [name, devices] : request.first_available) {
      Status status = CheckClass(devices.device_class_name, request.name + "/" + name);
      if (!status.ok()) return status;
    }
  }
  return {};
}

Status DynamicResources::CheckClass(const std::string& name, const std::string& request) const {
  if (name.empty()) return Status::Error(fmt::format("request {}: unsupported request type", request));
  if (FindClass(name) != nullptr) return {};
  return Status::Unresolvable(fmt::format("request {}: device class {} does not exist", request, name));
}

void DynamicResources::CheckLapsed(DeviceClaim& claim) const {
  if (!handle_.devices.features().binding_conditions) return;
  const WallTime limit = handle_.loop.WallNow() - args_.binding_timeout.value_or(kBindingTimeout);
  const BindingConditions conditions = ConditionsOf(*claim.object);
  claim.lapsed = conditions.state == BindingConditions::State::kFailed ||
                 (conditions.state == BindingConditions::State::kPending && HasLapsed(*claim.object, limit));
}

Status DynamicResources::Locate(const Attempt& attempt, const ResourceClaim::Allocation& allocation,
                                DeviceClaim& claim) const {
  if (!allocation.node_selector) return {};
  std::vector<std::string> errors;
  std::vector<cluster::CompiledTerm> terms;
  cluster::SymbolScope scope(handle_.symbols);
  for (std::size_t i = 0; i < allocation.node_selector->terms.size(); ++i) {
    terms.push_back(cluster::CompileTerm(allocation.node_selector->terms[i],
                                         fmt::format("nodeSelectorTerms[{}]", i), &errors, scope));
  }
  if (!errors.empty()) return Status::Error(api::JoinErrors(errors));
  claim.available = attempt.nodes().all();
  RestrictToAnyTerm(terms, attempt, *claim.available);
  return {};
}

// --- filter ---

devices::Allocator DynamicResources::MakeAllocator(const framework::CycleState& state,
                                                   std::uint64_t steps) const {
  return {handle_.devices.features(),
          handle_.devices.allocated(),
          [this](std::string_view name) { return FindClass(name); },
          *selectors_,
          {.steps = steps},
          state.Has(handle_.least_waste) ? devices::DeviceOrder::kLeastWaste : devices::DeviceOrder::kListed};
}

// The answer for a node; `error` is set if the kind is kError.
DevicesOfPod::Answer DynamicResources::Ask(const framework::CycleState& state, DevicesOfPod& pod,
                                           DevicesOfPod::Variant& variant, const devices::NodeDevices& node,
                                           std::string& error) const {
  if (const auto known = variant.answers.find(node.picture); known != variant.answers.end())
    return known->second;
  const std::vector<const ResourceClaim*> claims = pod.Unallocated(variant);
  Outcome outcome = MakeAllocator(state, pod.steps_left).Allocate(node, claims);
  pod.steps_left -= std::min(pod.steps_left, outcome.steps);
  DevicesOfPod::Answer answer{outcome.kind, 0};
  if (outcome.kind == Outcome::Kind::kError) {
    error = std::move(outcome.error);  // contains names of devices, so it holds for this node only
    return answer;
  }
  std::size_t next = 0;
  for (const DeviceClaim& claim : pod.claims) {
    if (claim.special) continue;  // it has no alternatives
    if (claim.allocated()) {
      answer.score += devices::ScoreOf(*claim.object, *claim.object->allocation);
    } else if (claim.shared != nullptr) {
      answer.score += devices::ScoreOf(*claim.object, *claim.shared);
    } else if (outcome.kind == Outcome::Kind::kAllocated) {
      answer.score += devices::ScoreOf(*claim.object, outcome.claims[next++]);
    }
  }
  variant.answers.emplace(node.picture, answer);
  return answer;
}

// --- extended resources ---

DynamicResources::OnNode DynamicResources::Consider(const api::Pod& pod, DevicesOfPod& devices,
                                                    const cluster::NodeTable& nodes, cluster::Row row) const {
  using Kind = OnNode::Kind;
  const DeviceClaim* special = devices.special();
  if (special == nullptr) return {Kind::kAllocates, &devices.variants[{}]};
  DevicesOfPod::VariantKey& key = devices.key;
  key.assign(devices.resources.size(), false);
  bool by_devices = false;
  for (std::size_t i = 0; i < devices.resources.size(); ++i) {
    const RequestedResource& resource = devices.resources[i];
    const auto column = nodes.allocatable(resource.id);
    if (!column.empty() && column[row] != 0) continue;
    if (!resource.class_name.empty()) {
      key[i] = by_devices = true;
    } else if (!nodes.node(row).allocatable.contains(resource.name)) {
      return {Kind::kCannotFit};
    }
  }
  // Device plugins provide everything, or an allocated claim cannot be allocated again.
  if (!devices.has_user_claims() && (!by_devices || special->allocated())) return {Kind::kNothing};
  if (special->allocated()) key.assign(key.size(), false);
  const auto found = devices.variants.find(key);
  if (found != devices.variants.end()) return {Kind::kAllocates, &found->second, by_devices};
  auto made = MakeVariant(pod, *special->object, devices.resources, key);
  return {Kind::kAllocates, &devices.variants.emplace(key, std::move(made)).first->second, by_devices};
}

void DynamicResources::FilterExtended(const Attempt& attempt, DevicesOfPod& pod, RowSet& candidates,
                                      framework::Rejections& out) const {
  const std::size_t rows = attempt.nodes().rows();
  const auto reject = [&](framework::ReasonId reason, const RowSet& rejected) {
    if (rejected.Empty()) return;
    out.Reject(reason, rows) |= rejected;
    out.unresolvable() |= rejected;
  };
  // An earlier attempt created it. PostFilter deletes it.
  if (!pod.special()->object->requests.empty()) {
    reject(stale_, candidates);
    return candidates.Clear();
  }
  auto without = attempt.Scratch();
  auto done = attempt.Scratch();
  candidates.ForEach([&](std::size_t row) {
    switch (Consider(*attempt.pod().pod, pod, attempt.nodes(), static_cast<cluster::Row>(row)).kind) {
      case OnNode::Kind::kCannotFit:
        without->Add(row);
        break;
      case OnNode::Kind::kNothing:
        done->Add(row);
        break;
      case OnNode::Kind::kAllocates:
        break;
    }
  });
  reject(cannot_fit_, *without);
  candidates -= *without;
  candidates -= *done;
}

void DynamicResources::Filter(const Attempt& attempt, const RowSet& all, framework::Rejections& out) const {
  if (!enabled_) return;
  if (!WasSeen(attempt.state())) return out.Fail(all, "not found");
  const DevicesOfPodPtr* known = attempt.state().Read(key_);
  if (known == nullptr) return;
  DevicesOfPod& pod = **known;
  const std::size_t rows = attempt.nodes().rows();
  pod.filtered = true;
  auto remaining = attempt.Scratch();
  *remaining |= all;
  if (pod.special() != nullptr) FilterExtended(attempt, pod, *remaining, out);
  const RowSet& candidates = *remaining;
  auto impossible = attempt.Scratch();
  auto invalid = attempt.Scratch();
  if (pod.allocates) {
    bool stopped = false;
    candidates.ForEach([&](std::size_t row) {
      if (stopped) return;
      const auto& node = handle_.devices.inventory().Of(attempt.nodes(), static_cast<cluster::Row>(row));
      if (!node) {
        out.Fail(static_cast<std::uint32_t>(row), "gather pool information: " + node.error().message);
        return;
      }
      std::string error;
      const OnNode on_node =
          Consider(*attempt.pod().pod, pod, attempt.nodes(), static_cast<cluster::Row>(row));
      switch (Ask(attempt.state(), pod, *on_node.variant, *node, error).kind) {
        case Outcome::Kind::kAllocated:
          break;
        case Outcome::Kind::kImpossible:
          impossible->Add(row);
          break;
        case Outcome::Kind::kInvalidPools:
          invalid->Add(row);
          break;
        case Outcome::Kind::kTimeout:
          // The attempt fails; no other node may take as long.
          stopped = true;
          out.Fail(static_cast<std::uint32_t>(row),
                   fmt::format("node {}: timed out trying to allocate devices",
                               attempt.nodes().name(static_cast<cluster::Row>(row))));
          break;
        case Outcome::Kind::kError:
          out.Fail(static_cast<std::uint32_t>(row), std::move(error));
          break;
      }
    });
  }
  // Rows that the allocator did not reject, but on which an allocated claim cannot be used.
  auto unavailable = attempt.Scratch();
  for (DeviceClaim& claim : pod.claims) {
    if (!claim.available && !claim.lapsed) continue;
    auto without = attempt.Scratch();
    *without |= candidates;
    *without -= *impossible;
    *without -= *invalid;
    if (claim.available && !claim.lapsed) *without -= *claim.available;
    claim.unavailable = claim.unavailable || !without->Empty();
    *unavailable |= *without;
  }
  const auto reject = [&](framework::ReasonId reason, const RowSet& rejected) {
    if (rejected.Empty()) return;
    out.Reject(reason, rows) |= rejected;
    out.unresolvable() |= rejected;
  };
  reject(impossible_, *impossible);
  reject(invalid_pools_, *invalid);
  reject(unavailable_, *unavailable);
}

framework::PostFilterResult DynamicResources::PostFilter(const Attempt& attempt,
                                                         const framework::FilterOutcome&,
                                                         framework::PostFilterServices&) {
  framework::PostFilterResult nothing{{framework::Code::kUnschedulable, {}, {}}, std::nullopt};
  if (!enabled_) return nothing;
  // An earlier plugin rejected the pod in PreFilter. kube-scheduler then finds no cycle state and returns
  // this error, which ends PostFilter.
  if (!WasSeen(attempt.state())) return {Status::Error("not found"), std::nullopt};
  Deallocated deallocated;
  if (std::optional<Status> released = ReleaseClaims(*attempt.pod().pod, attempt.state(), deallocated))
    return {*std::move(released), std::nullopt};
  return nothing;
}

framework::GroupPostFilterResult DynamicResources::PodGroupPostFilter(
    const framework::QueuedGroup& group, framework::GroupPostFilterServices& services) {
  Deallocated deallocated;
  framework::GroupPostFilterResult result = DeallocateForGroup(group, services, deallocated);
  // kube-scheduler writes this in the Unreserve of each node that was tried.
  for (const framework::QueuedPodPtr& member : group.members) {
    const api::Pod& pod = *member->info.pod;
    if (const auto found = unreserved_.find(pod.metadata.uid); found != unreserved_.end())
      RemoveReservations(pod, *found->second, deallocated);
  }
  unreserved_.clear();
  return result;
}

// Like PostFilter for each member, then the claims of the group.
framework::GroupPostFilterResult DynamicResources::DeallocateForGroup(
    const framework::QueuedGroup& group, framework::GroupPostFilterServices& services,
    Deallocated& deallocated) {
  const bool by_topology =
      handle_.gates.Enabled("TopologyAwareWorkloadScheduling") && !group.object->topology_key.empty();
  if (!enabled_ || by_topology || group.object->composite) return {{framework::Code::kUnschedulable, {}, {}}};
  if (std::ranges::none_of(services.tried(), [&](const auto& tried) { return WasSeen(*tried.state); })) {
    // kube-scheduler finds no state of the group then. It does not know the groups of other projects: those
    // wait for a node rather than for the end of a back-off.
    if (group.object->external != nullptr) return {{framework::Code::kUnschedulable, {}, {}}};
    return {Status::Error("not found")};
  }
  bool nothing_released = false;  // for some member
  for (const auto& [member, state] : services.tried()) {
    if (!WasSeen(*state)) continue;
    nothing_released |= !ReleaseClaims(*member->info.pod, *state, deallocated);
  }
  if (nothing_released && groups_have_claims_) {
    if (auto released = ReleaseGroupClaims(group, services, deallocated)) return {*std::move(released)};
  }
  return {Status::Unschedulable("deallocation and deletion of ResourceClaims completed")};
}

// A claim with a shared allocation counts as deallocated, as in kube-scheduler: nothing is written for it.
std::optional<Status> DynamicResources::ReleaseClaims(const api::Pod& pod, const framework::CycleState& state,
                                                      Deallocated& deallocated) {
  const DevicesOfPodPtr* known = state.Read(key_);
  if (known == nullptr) return std::nullopt;
  for (const DeviceClaim& claim : (*known)->claims) {
    if (claim.special || !claim.unavailable || !IsOnlyFor(*claim.object, pod.metadata.uid)) continue;
    Deallocate(*claim.object, deallocated);
    return Status::Unschedulable("deallocation of ResourceClaim completed");
  }
  if (const DeviceClaim* special = (*known)->special(); special != nullptr && !special->in_memory) {
    DeleteSpecialClaim(handle_, special->object);
    deallocated.insert(special->object->metadata.uid);
    return Status::Unschedulable("deletion of ResourceClaim completed");
  }
  return std::nullopt;
}

// As long as no member has a node, no member uses the claims: a later cycle may find other devices.
std::optional<Status> DynamicResources::ReleaseGroupClaims(const framework::QueuedGroup& group,
                                                           framework::GroupPostFilterServices& services,
                                                           Deallocated& deallocated) {
  const cluster::PodGroups::Group* known = handle_.groups.Find(group.key);
  if (known == nullptr || known->scheduled > 0) return std::nullopt;
  const api::PodGroup& object = *group.object;
  for (const auto& [member, state] : services.tried()) {
    const DevicesOfPodPtr* devices = state->Read(key_);
    if (devices == nullptr) continue;
    for (const DeviceClaim& claim : (*devices)->claims) {
      if (claim.special || !claim.unavailable || !IsOnlyFor(*claim.object, object.metadata.uid)) continue;
      Deallocate(*claim.object, deallocated);
      return Status::Unschedulable("deallocation of PodGroup ResourceClaim completed");
    }
  }
  const api::Pod& first = *group.members.front()->info.pod;
  for (const api::PodResourceClaim& reference : object.resource_claims) {
    const auto name = NameOf(object, reference);
    if (!name) return Status::Error(name.error().message);
    if (!name->name) continue;
    const std::string& ns = object.metadata.ns.str();
    const ResourceClaimPtr claim = handle_.objects.Of<ResourceClaim>().Find(ns, *name->name);
    if (claim == nullptr)
      return Status::Error(fmt::format("could not find ResourceClaim \"{}/{}\"", ns, *name->name));
    if (name->from_template && !IsOwnedBy(*claim, object.metadata)) continue;
    if (!claim->allocation || !IsReservedFor(*claim, first, object.metadata.name)) continue;
    shared_->releases->Start(claim->metadata, object.metadata.uid);
    return Status::Unresolvable("ResourceClaim unreserved for PodGroup");
  }
  return std::nullopt;
}

// Several members may have found the same claim unavailable.
void DynamicResources::Deallocate(const ResourceClaim& claim, Deallocated& deallocated) {
  if (!claim.allocation || !deallocated.insert(claim.metadata.uid).second) return;
  handle_.api.ChangeClaim({claim.metadata.ns.str(), claim.metadata.name, claim.metadata.resource_version,
                           ports::ClaimChange::Deallocate{}},
                          [](const Expected<std::string>&) {});
}

// --- score ---

framework::ResultDependency DynamicResources::ScoreDependency(const cluster::PodInfo& pod) const {
  return pod.pod->spec.resource_claims.empty() ? framework::ResultDependency::kNodes
                                               : framework::ResultDependency::kEverything;
}

Status DynamicResources::Score(const Attempt& attempt, const RowSet& feasible,
                               framework::ScoreColumn& scores) const {
  scores.SetAll(0);
  if (!enabled_) return {};
  if (!WasSeen(attempt.state())) return Status::Error("not found");
  const DevicesOfPodPtr* known = attempt.state().Read(key_);
  if (known == nullptr || !(*known)->allocates || !handle_.devices.features().prioritized_list) return {};
  DevicesOfPod& pod = **known;
  if (!pod.has_user_claims()) return {};
  const auto values = scores.Mutable();
  std::int64_t most = 0;
  feasible.ForEach([&](std::size_t row) {
    const auto& node = handle_.devices.inventory().Of(attempt.nodes(), static_cast<cluster::Row>(row));
    values[row] = 0;
    if (!node) return;
    const OnNode on_node = Consider(*attempt.pod().pod, pod, attempt.nodes(), static_cast<cluster::Row>(row));
    if (on_node.variant == nullptr) return;
    const auto answer = on_node.variant->answers.find(node->picture);
    if (answer != on_node.variant->answers.end()) values[row] = answer->second.score;
    most = std::max(most, values[row]);
  });
  if (most == 0) return {};
  feasible.ForEach([&](std::size_t row) { values[row] = framework::kMaxScore * values[row] / most; });
  return {};
}

// --- binding ---

Status DynamicResources::Reserve(const Placement& placement) {
  if (!enabled_) return {};
  if (!placement.state.in_group_cycle) unreserved_.clear();  // the group could be scheduled
  if (!WasSeen(placement.state)) return Status::Error("not found");
  const DevicesOfPodPtr* known = placement.state.Read(key_);
  if (known == nullptr || !(*known)->allocates) return {};
  DevicesOfPod& pod = **known;
  Expected<Allocations> found = Allocate(placement, pod);
  if (!found) return Status::Error(std::move(found).error().message);
  if (found->variant == nullptr) return {};
  pod.reserved = found->variant;
  devices::AllocatedDevices& allocated = handle_.devices.allocated();
  const auto sharing = placement.state.in_group_cycle ? devices::AllocatedDevices::Sharing::kGroupCycle
                                                      : devices::AllocatedDevices::Sharing::kNone;
  std::size_t next = 0;
  for (DeviceClaim& claim : pod.claims) {
    if (claim.allocated()) continue;
    const std::string& uid = claim.object->metadata.uid;
    if (claim.shared != nullptr) {
      // The member that has found the devices could not be reserved again.
      if (allocated.PendingOf(uid) == nullptr) return Status::Error(kNotFound);
      claim.allocation = allocated.AddPending(uid, claim.shared, sharing);
    } else if (next < found->allocations.size()) {
      claim.allocation = allocated.AddPending(uid, std::move(found->allocations[next++]), sharing);
    }
  }
  return {};
}

// An error has kube-scheduler's text.
Expected<DynamicResources::Allocations> DynamicResources::Allocate(const Placement& placement,
                                                                   DevicesOfPod& pod) const {
  if (!pod.filtered) {
    // As in kube-scheduler, which stores the devices in Filter.
    const bool needed = std::ranges::any_of(
        pod.claims, [](const DeviceClaim& claim) { return !claim.special && !claim.allocated(); });
    if (needed) return Invalid(kNotFound);
    return Allocations{};
  }
  const cluster::Row row = handle_.nodes.Find(placement.node);
  if (row == cluster::kNoRow) return Invalid(kNotFound);
  const OnNode on_node = Consider(*placement.pod.pod, pod, handle_.nodes, row);
  if (on_node.kind == OnNode::Kind::kNothing) return Allocations{};  // device plugins provide everything
  if (on_node.variant == nullptr) return Invalid(kNotFound);
  if (on_node.by_devices && on_node.variant->special == nullptr && !pod.special()->allocated()) {
    // No container requests the resources that devices would provide, for example the pod's overhead.
    return Invalid(fmt::format(
        "nil or empty request mappings, no update of pod {} ExtendedResourceClaimStatus", placement.pod.key));
  }
  const auto& node = handle_.devices.inventory().Of(handle_.nodes, row);
  if (!node) return Invalid("gather pool information: " + node.error().message);
  // The same search as in Filter, which stored only whether the node has devices.
  const devices::Allocator allocator = MakeAllocator(placement.state, StepsOf(args_));
  const std::vector<const ResourceClaim*> claims = pod.Unallocated(*on_node.variant);
  const Outcome outcome = allocator.Allocate(*node, claims);
  if (outcome.kind != Outcome::Kind::kAllocated) return Invalid(kNotFound);
  Allocations result{on_node.variant};
  // Described before the first is reserved: reserved devices change what the outcome refers to.
  for (std::size_t i = 0; i < claims.size(); ++i) {
    BERTH_TRY(auto allocation,
              allocator.Describe(*claims[i], outcome.claims[i], placement.node, claims[i]->metadata.uid));
    result.allocations.push_back(std::make_shared<const ResourceClaim::Allocation>(std::move(allocation)));
  }
  return result;
}

Expected<std::vector<framework::PreviewedAllocation>> DynamicResources::PreviewAllocations(
    const Placement& placement) const {
  const DevicesOfPodPtr* known = placement.state.Read(key_);
  if (known == nullptr || !(*known)->allocates) return {};
  BERTH_TRY(Allocations found, Allocate(placement, **known));
  std::vector<framework::PreviewedAllocation> previews;
  for (const DeviceClaim& claim : (*known)->claims) {
    if (!claim.needs_devices() || previews.size() == found.allocations.size()) continue;
    previews.push_back(
        {claim.object->metadata.uid, claim.special, std::move(found.allocations[previews.size()])});
  }
  return previews;
}

void DynamicResources::Unreserve(const Placement& placement) {
  if (!enabled_) return;
  const DevicesOfPodPtr* known = placement.state.Read(key_);
  if (known == nullptr) return;
  DevicesOfPod& pod = **known;
  for (DeviceClaim& claim : pod.claims) {
    if (claim.allocation != nullptr && !claim.allocated())
      handle_.devices.allocated().ReleasePending(claim.object->metadata.uid, claim.allocation);
    claim.allocation = nullptr;
  }
  // The search for the nodes of a group has written nothing. What an earlier attempt has written is still
  // needed if the group can be scheduled.
  if (placement.state.in_group_cycle) {
    unreserved_[placement.pod.pod->metadata.uid] = *known;
    return;
  }
  RemoveReservations(*placement.pod.pod, pod, {});
}

void DynamicResources::RemoveReservations(const api::Pod& pod, const DevicesOfPod& devices,
                                          const Deallocated& deallocated) {
  for (const DeviceClaim& claim : devices.claims) {
    const api::ObjectMeta& meta = claim.object->metadata;
    if (deallocated.contains(meta.uid)) continue;
    if (claim.special) {
      if (!claim.in_memory) DeleteSpecialClaim(handle_, claim.object);
    } else if (claim.allocated() && IsReservedFor(*claim.object, pod)) {
      shared_->releases->Start(meta, pod.metadata.uid);
    }
  }
}

framework::PreBindPlugin::PreFlight DynamicResources::PreBindPreFlight(const Placement& placement) {
  if (!enabled_) return {Status::Skip(), true};
  if (!WasSeen(placement.state)) return {Status::Error("not found"), true};
  return {placement.state.Read(key_) == nullptr ? Status::Skip() : Status::Success(), true};
}

void DynamicResources::PreBind(const Placement& placement, std::stop_token stop,
                               framework::StatusCallback answer) {
  const DevicesOfPodPtr* known = placement.state.Read(key_);
  ClaimWrites::Start(handle_, *shared_->releases, *shared_->turns, placement, *known,
                     args_.binding_timeout.value_or(kBindingTimeout), std::move(stop), std::move(answer));
}

Duration DynamicResources::LongestPreBind() const {
  // The writes have deadlines of their own.
  return std::max(PreBindPlugin::LongestPreBind(),
                  args_.binding_timeout.value_or(kBindingTimeout) + std::chrono::minutes(5));
}

// --- events ---

std::vector<framework::EventRegistration> DynamicResources::EventsToRegister() const {
  using namespace framework;
  if (!enabled_) return {};
  return {{EventResource::kNode, kAdd | kUpdateNodeLabel | kUpdateNodeAllocatable},
          When<ResourceClaim>(
              EventResource::kResourceClaim, kAdd | kUpdate | kDelete,
              [this](const cluster::PodInfo& waiting, const ResourceClaim* before,
                     const ResourceClaim* after) { return AfterClaimChange(*waiting.pod, before, after); }),
          When<api::Pod>(EventResource::kTargetPod, kUpdatePodGeneratedResourceClaim,
                         [this](const cluster::PodInfo&, const api::Pod*, const api::Pod* after) {
                           return ForEachClaim(*after, [](const auto&, const auto&) {}) ? Hint::kQueue
                                                                                        : Hint::kSkip;
                         }),
          {EventResource::kDeviceClass, kAdd | kUpdate},
          {EventResource::kResourceSlice, kAdd | kUpdate}};
}

Hint DynamicResources::AfterClaimChange(const api::Pod& waiting, const ResourceClaim* before,
                                        const ResourceClaim* after) const {
  if (after == nullptr) return framework::QueueIf(before->allocation.has_value());
  const bool deallocated = before != nullptr && before->allocation && !after->allocation;
  if (!deallocated && !NamesClaim(waiting, after->metadata)) return Hint::kSkip;
  bool uses = false;
  const Expected<void> found = ForEachClaim(waiting, [&](const auto&, const ResourceClaimPtr& claim) {
    uses = uses || claim->metadata.uid == after->metadata.uid;
  });
  if (!found) return Hint::kSkip;
  if (deallocated) return Hint::kQueue;
  if (!uses) return Hint::kSkip;
  if (before == nullptr) return Hint::kQueue;
  return SameStatus(*before, *after) ? Hint::kSkip : Hint::kQueue;
}

}  // namespace berth::plugins
