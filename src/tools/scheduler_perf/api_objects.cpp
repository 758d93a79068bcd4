#include "tools/scheduler_perf/api_objects.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <utility>

#include "base/nearest.hpp"

namespace berth::scheduler_perf {
namespace {

using yaml::Value;

constexpr std::string_view kClaimTemplate = "ResourceClaimTemplate";

std::string TextOf(const Value& object, std::initializer_list<std::string_view> path) {
  const Value* value = &object;
  for (const std::string_view name : path) {
    value = value->Find(name);
    if (value == nullptr) return {};
  }
  return value->kind == Value::Kind::kString ? value->text : std::string();
}

Value& Member(Value& object, std::string_view name) {
  Value* member = object.Find(name);
  return member != nullptr && member->kind == Value::Kind::kMap ? *member : object.Set(name, Value::Map());
}

std::string KeyIn(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : fmt::format("{}/{}", ns, name);
}

std::unexpected<Error> UnknownKind(const std::string& kind) {
  std::vector<std::string> known{std::string(kClaimTemplate)};
  api::AllKinds::ForEach([&]<class T>() { known.emplace_back(T::kKind); });
  const std::string nearest = Nearest(kind, known);
  return Invalid(fmt::format("kind: expected one of {}, got \"{}\"{}", fmt::join(known, ", "), kind,
                             nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
}

// The API server's condition of a pod with gates.
void SetGated(api::Pod& pod) {
  if (pod.spec.scheduling_gates.empty()) return;
  pod.status.conditions.push_back({.type = "PodScheduled",
                                   .status = "False",
                                   .reason = "SchedulingGated",
                                   .message = "Scheduling is blocked due to non-empty scheduling gates",
                                   .last_transition_time = {}});
}

}  // namespace

ApiObjects::ApiObjects(simulation::VirtualApi& api, const Options& options) : api_(api), options_(options) {
  api_.SetTermination([this](const api::Pod& pod) { return TimeToEnd(pod); });
}

// --- creation ---

Expected<std::string> ApiObjects::Create(const Value& object, const std::string& ns) {
  const std::string kind = TextOf(object, {"kind"});
  if (kind == kClaimTemplate) {
    Value claim_template = object;
    BERTH_RETURN_IF_ERROR(Complete(claim_template, true, ns));
    return CreateTemplate(claim_template);
  }
  std::optional<Expected<std::string>> created;
  api::AllKinds::ForEach([&]<class T>() {
    if (T::kKind == kind) created = CreateKind<T>(object, ns);
  });
  if (!created) return UnknownKind(kind);
  return *std::move(created);
}

bool ApiObjects::IsNamespaced(std::string_view kind) {
  bool namespaced = true;
  api::AllKinds::ForEach([&]<class T>() {
    if (T::kKind == kind) namespaced = T::kNamespaced;
  });
  return namespaced;
}

template <class T>
Expected<T> ApiObjects::Decode(const Value& object) {
  std::string json;
  yaml::AppendJson(json, object);
  BERTH_TRY(T decoded, decoder_.Object<T>(json));
  api::ApplyDefaults(decoded);
  return decoded;
}

Expected<void> ApiObjects::Complete(Value& object, bool namespaced, const std::string& ns) {
  const std::string kind = TextOf(object, {"kind"});
  if (namespaced == ns.empty()) {
    return Invalid(fmt::format("namespace: {} objects are {}; {}", kind,
                               namespaced ? "namespaced" : "cluster-scoped",
                               namespaced ? "the field is required" : fmt::format("remove \"{}\"", ns)));
  }
  Value& metadata = Member(object, "metadata");
  if (!ns.empty()) metadata.Set("namespace", Value::Text(ns));
  const std::uint64_t serial = ++serial_;
  if (TextOf(metadata, {"name"}).empty()) {
    const std::string prefix = TextOf(metadata, {"generateName"});
    if (prefix.empty()) return Invalid(fmt::format("metadata.name: required for {}", kind));
    metadata.Set("name", Value::Text(prefix + std::to_string(serial)));
  }
  metadata.Set("uid", Value::Text(std::to_string(serial)));
  return {};
}

template <class T>
Expected<std::string> ApiObjects::CreateKind(Value object, const std::string& ns) {
  if (std::derived_from<T, api::PodGroup> && !options_.pod_groups)
    return Invalid(fmt::format("{}: needs the feature gate GenericWorkload", T::kKind));
  BERTH_RETURN_IF_ERROR(Complete(object, T::kNamespaced, ns));
  std::string name = TextOf(object, {"metadata", "name"});
  if (api_.Find<T>(KeyIn(ns, name)) != nullptr)
    return Fail(ErrorCode::kAlreadyExists, fmt::format("{} {} exists", T::kKind, KeyIn(ns, name)));
  if constexpr (std::same_as<T, api::Pod>) {
    return CreatePod(object);
  } else {
    BERTH_TRY(T decoded, Decode<T>(object));
    if constexpr (std::same_as<T, api::Node>) ++nodes_;
    if constexpr (std::derived_from<T, api::PodGroup>) BERTH_RETURN_IF_ERROR(CreateGroupClaims(decoded));
    api_.Put(std::move(decoded));
    return name;
  }
}

Expected<std::string> ApiObjects::CreatePod(const Value& object) {
  if (api_.pods() >= options_.most_pods)
    return Invalid(fmt::format("more than {} pods exist at the same time", options_.most_pods));
  BERTH_TRY(api::Pod pod, Decode<api::Pod>(object));
  const Value* spec = object.Find("spec");
  const Value* grace = spec == nullptr ? nullptr : spec->Find("terminationGracePeriodSeconds");
  const Value* metadata = object.Find("metadata");
  const Value* finalizers = metadata == nullptr ? nullptr : metadata->Find("finalizers");
  const Ending ending{.at_once = grace != nullptr && grace->text == "0",
                      .finalizers = finalizers != nullptr && !finalizers->items.empty()};
  if (ending.at_once || ending.finalizers) endings_[pod.metadata.uid] = ending;
  SetGated(pod);
  BERTH_RETURN_IF_ERROR(CreateClaims(pod));
  std::string name = pod.metadata.name;
  ++pods_;
  options_.on_created(pod);
  api_.CreatePod(std::move(pod));
  return name;
}

void ApiObjects::EnsureNamespace(const std::string& name) {
  if (api_.Find<api::Namespace>(name) != nullptr) return;
  api::Namespace ns;
  ns.metadata.name = name;
  ns.metadata.uid = std::to_string(++serial_);
  api::ApplyDefaults(ns);
  api_.Put(std::move(ns));
}

// --- claims ---

Expected<std::string> ApiObjects::CreateTemplate(const Value& object) {
  const Value* spec = object.Find("spec");
  const Value* claim_spec = spec == nullptr ? nullptr : spec->Find("spec");
  if (claim_spec == nullptr) return Invalid("spec.spec: required: the spec of the claims");
  Value claim = Value::Map();
  claim.Set("metadata", *object.Find("metadata"));
  claim.Set("spec", *claim_spec);
  BERTH_TRY(api::ResourceClaim decoded, Decode<api::ResourceClaim>(claim));
  std::string name = decoded.metadata.name;
  const std::string key = decoded.metadata.Key();
  if (!claim_templates_.emplace(key, std::move(decoded)).second)
    return Fail(ErrorCode::kAlreadyExists, fmt::format("ResourceClaimTemplate {} exists", key));
  return name;
}

Expected<api::ResourceClaim> ApiObjects::ClaimFrom(const api::PodResourceClaim& reference,
                                                   const api::ObjectMeta& owner) {
  const std::string key = KeyIn(owner.ns.str(), *reference.resource_claim_template_name);
  const auto found = claim_templates_.find(key);
  if (found == claim_templates_.end())
    return Invalid(
        fmt::format("{}: needs the ResourceClaimTemplate \"{}\"; there is none", owner.Key(), key));
  api::ResourceClaim claim = found->second;
  claim.metadata.name = owner.name + "-" + reference.name;
  claim.metadata.uid = owner.uid + "-" + reference.name;
  return claim;
}

// A claim that a pod has in common with its group is the claim of the group.
Expected<void> ApiObjects::CreateClaims(api::Pod& pod) {
  std::shared_ptr<const api::PodGroup> group;
  if (options_.group_claims && pod.spec.pod_group)
    group = api_.Find<api::PodGroup>(KeyIn(pod.metadata.ns.str(), *pod.spec.pod_group));
  for (const api::PodResourceClaim& reference : std::as_const(pod.spec.resource_claims)) {
    if (!reference.resource_claim_template_name) continue;
    if (group != nullptr &&
        std::ranges::find(group->resource_claims, reference) != group->resource_claims.end()) {
      const auto status = std::ranges::find(group->resource_claim_statuses, reference.name,
                                            &api::PodResourceClaimStatus::name);
      if (status != group->resource_claim_statuses.end())
        pod.status.resource_claim_statuses.push_back(*status);
      continue;
    }
    BERTH_TRY(api::ResourceClaim claim, ClaimFrom(reference, pod.metadata));
    pod.status.resource_claim_statuses.push_back({reference.name, claim.metadata.name});
    api_.CreateClaimFor(pod.metadata, std::move(claim));
  }
  return {};
}

Expected<void> ApiObjects::CreateGroupClaims(api::PodGroup& group) {
  if (!options_.group_claims) return {};
  for (const api::PodResourceClaim& reference : group.resource_claims) {
    if (!reference.resource_claim_template_name) continue;
    BERTH_TRY(api::ResourceClaim claim, ClaimFrom(reference, group.metadata));
    claim.metadata.controller =
        api::OwnerReference{"scheduling.k8s.io/v1beta1", "PodGroup", group.metadata.name, group.metadata.uid};
    group.resource_claim_statuses.push_back({reference.name, claim.metadata.name});
    api_.Put(std::move(claim));
  }
  return {};
}

// --- changes and removal ---

Expected<void> ApiObjects::Update(const Value& object, const std::string& ns) {
  const std::string kind = TextOf(object, {"kind"});
  std::optional<Expected<void>> updated;
  api::AllKinds::ForEach([&]<class T>() {
    if (T::kKind == kind) updated = UpdateKind<T>(object, ns);
  });
  if (!updated) return UnknownKind(kind);
  return *std::move(updated);
}

template <class T>
Expected<void> ApiObjects::UpdateKind(const Value& object, const std::string& ns) {
  const std::string key = KeyIn(ns, TextOf(object, {"metadata", "name"}));
  const auto current = api_.Find<T>(key);
  if (current == nullptr)
    return Fail(ErrorCode::kNotFound, fmt::format("{} {} does not exist", T::kKind, key));
  Value renamed = object;
  if (!ns.empty()) Member(renamed, "metadata").Set("namespace", Value::Text(ns));
  BERTH_TRY(T changed, Decode<T>(renamed));
  changed.metadata.uid = current->metadata.uid;
  changed.metadata.generation = current->metadata.generation + 1;
  if constexpr (std::same_as<T, api::Pod>) {
    changed.status = current->status;
    if (changed.spec.node_name.empty()) changed.spec.node_name = current->spec.node_name;
    changed.metadata.deletion_timestamp = current->metadata.deletion_timestamp;
    api_.UpdatePod(std::move(changed));
  } else {
    api_.Put(std::move(changed));
  }
  return {};
}

void ApiObjects::Remove(std::string_view kind, const std::string& ns, const std::string& name) {
  api::AllKinds::ForEach([&]<class T>() {
    if (T::kKind != kind) return;
    if constexpr (std::same_as<T, api::Pod>) {
      api_.TerminatePod(KeyIn(ns, name));
    } else {
      api_.Remove<T>(KeyIn(T::kNamespaced ? ns : "", name));
    }
  });
}

void ApiObjects::RemovePodAtOnce(const api::Pod& pod) {
  api_.RemovePod(pod.metadata.Key(), pod.metadata.uid);
}

std::optional<Duration> ApiObjects::TimeToEnd(const api::Pod& pod) const {
  const auto found = endings_.find(pod.metadata.uid);
  const Ending ending = found == endings_.end() ? Ending() : found->second;
  const bool stays = ending.finalizers || (!pod.spec.node_name.empty() && !ending.at_once);
  return stays ? std::nullopt : std::optional(Duration::zero());
}

void ApiObjects::OnPodRemoved(const api::Pod& pod) {
  if (const auto found = endings_.find(pod.metadata.uid); found != endings_.end()) endings_.erase(found);
  for (const api::PodResourceClaim& reference : pod.spec.resource_claims) {
    if (reference.resource_claim_name)
      ReleaseClaim(KeyIn(pod.metadata.ns.str(), *reference.resource_claim_name), pod.metadata.uid);
  }
}

// The controller of resource claims removes consumers that are gone, and the allocation with the last one.
void ApiObjects::ReleaseClaim(const std::string& key, std::string_view pod_uid) {
  const auto current = api_.Find<api::ResourceClaim>(key);
  if (current == nullptr) return;
  api::ResourceClaim changed = *current;
  if (std::erase_if(changed.reserved_for, [&](const auto& consumer) { return consumer.uid == pod_uid; }) == 0)
    return;
  if (changed.reserved_for.empty()) changed.allocation = {};
  api_.Put(std::move(changed));
}

}  // namespace berth::scheduler_perf
