#include "sandbox/controllers/resource_claims/resource_claims.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::sandbox {
namespace {

constexpr std::string_view kResourceClaimComponent = "resource_claim";
// The length of a generated name without the suffix, which the server appends: 63 characters in all.
constexpr std::size_t kBaseMax = 57;

// No container of the pod runs, or ever will.
bool IsDone(const PodFacts& pod) { return pod.terminal() || (pod.object->deleting && pod.node().empty()); }

bool IsProtected(const json::object& claim) {
  const auto& finalizers = ArrayOrEmpty(claim, "metadata.finalizers");
  return std::ranges::find(finalizers, json::value(kClaimFinalizer)) != finalizers.end();
}

bool IsAllocated(const json::object& claim) { return FindObject(claim, "status.allocation") != nullptr; }

// "<pod>-<entry>-"; both are shortened in proportion if that is too long.
std::string ClaimNameBase(std::string_view pod, std::string_view entry) {
  std::string base = fmt::format("{}-{}-", pod, entry);
  if (base.size() <= kBaseMax) return base;
  return fmt::format("{}-{}", pod.substr(0, pod.size() * kBaseMax / base.size()),
                     entry.substr(0, entry.size() * kBaseMax / base.size()));
}

ApiError WithContext(std::string context, ApiError error) {
  error.message = std::move(context) + error.message;
  return error;
}

}  // namespace

ResourceClaimController::ResourceClaimController(ControllerContext& context)
    : context_(context),
      pods_(context.timers, context.verbs.clock(), [this](const std::string& key) { return SyncPod(key); }),
      claims_(context.timers, context.verbs.clock(),
              [this](const std::string& key) { return SyncClaim(key); }) {
  for (const auto& [_, pod] : context.view.all()) OnPod(nullptr, &pod);
  for (const auto& [key, _] : context.store().All(Kinds().resource_claims)) claims_.Add(key);
  context.store().Observe(*this);
  context.view.Observe(*this);
}

// --- changes ---

void ResourceClaimController::OnPod(const PodFacts* before, const PodFacts* after) {
  const PodFacts& pod = after != nullptr ? *after : *before;
  if (!MayUseClaims(*pod.object)) return;
  if (after != nullptr) Track(pod.object->key, ClaimsOf(pod.object->Parse().root()));
  EnqueuePod(pod, after == nullptr);
  if (after == nullptr) Track(pod.object->key, {});
}

void ResourceClaimController::OnChange(const ResourceType& type, const Change& change) {
  const std::string& key = change.subject().key;
  if (&type == &Kinds().resource_claims) {
    if (change.after) claims_.Add(key);
    EnqueuePods(pods_by_claim_, key);
  } else if (&type == &Kinds().resource_claim_templates && change.after) {
    EnqueuePods(pods_by_template_, key);
  }
}

void ResourceClaimController::Track(const std::string& pod_key, const std::vector<PodClaim>& claims) {
  const std::string_view ns = std::string_view(pod_key).substr(0, pod_key.find('/'));
  const auto each_index = [&](const std::vector<PodClaim>& list, auto&& visit) {
    for (const auto& claim : list) {
      if (claim.claim_name && !claim.claim_name->empty())
        visit(pods_by_claim_, ObjectKey(ns, *claim.claim_name));
      if (!claim.template_name.empty()) visit(pods_by_template_, ObjectKey(ns, claim.template_name));
    }
  };
  if (const auto known = claims_of_.find(pod_key); known != claims_of_.end()) {
    each_index(known->second, [&](Index& index, const std::string& key) {
      const auto found = index.find(key);
      if (found == index.end()) return;  // two entries with the same claim
      found->second.erase(pod_key);
      if (found->second.empty()) index.erase(found);
    });
    claims_of_.erase(known);
  }
  if (claims.empty()) return;
  each_index(claims, [&](Index& index, const std::string& key) { index[key].insert(pod_key); });
  claims_of_.emplace(pod_key, claims);
}

void ResourceClaimController::EnqueuePods(const Index& index, const std::string& key) {
  const auto found = index.find(key);
  if (found == index.end()) return;
  for (const auto& pod_key : found->second) {
    if (const PodFacts* pod = context_.view.Pod(pod_key)) EnqueuePod(*pod, false);
  }
}

void ResourceClaimController::EnqueuePod(const PodFacts& pod, bool deleted) {
  const Object& object = *pod.object;
  const auto claims = claims_of_.find(object.key);
  if (claims == claims_of_.end()) return;
  if (deleted || IsDone(pod)) {
    for (const auto& claim : claims->second) {
      if (claim.claim_name && !claim.claim_name->empty())
        claims_.Add(ObjectKey(object.ns, *claim.claim_name));
    }
  } else if (!object.deleting && NeedsWork(object)) {
    pods_.Add(object.key);
  }
}

bool ResourceClaimController::NeedsWork(const Object& pod) const {
  for (const auto& entry : claims_of_.at(pod.key)) {
    if (entry.name.empty()) continue;  // the scheduler creates and reserves the claim of extended resources
    if (!entry.claim_name) return true;
    if (entry.claim_name->empty()) continue;
    const ObjectPtr claim =
        context_.store().Get(Kinds().resource_claims, ObjectKey(pod.ns, *entry.claim_name));
    if (!claim && entry.template_name.empty()) continue;  // the user creates it
    if (!claim) return true;
    const Document document = claim->Parse();
    // Another claim has this name: nothing can be done until it is deleted.
    if (!entry.template_name.empty() && !IsControlledBy(document.root(), pod.uid)) continue;
    const bool bound = !pod.fields[pod_field::kNodeName].empty();
    if (bound && IsAllocated(document.root()) && !IsReservedFor(document.root(), pod.uid)) return true;
  }
  return false;
}

// --- pods: create and reserve claims ---

ResourceClaimController::Outcome ResourceClaimController::SyncPod(const std::string& key) {
  const PodFacts* facts = context_.view.Pod(key);
  if (facts == nullptr || facts->object->deleting || IsDone(*facts)) return {};
  const ObjectPtr pod = facts->object;
  std::map<std::string, std::string> created;
  for (const auto& entry : ClaimsOf(pod->Parse().root())) {
    auto name = HandleClaim(*pod, entry);
    if (!name) {
      context_.events.Record(*pod, "Warning", "FailedResourceClaimCreation",
                             fmt::format("PodResourceClaim {}: {}", entry.name, name.error().message),
                             kResourceClaimComponent);
      return {.failed = true};
    }
    if (!name->empty()) created[entry.name] = std::move(*name);
  }
  if (!created.empty()) RecordClaims(*pod, created);
  if (pod->fields[pod_field::kNodeName].empty()) return {};  // the scheduler reserves
  return {.failed = !ReserveClaims(*pod)};
}

ApiResult<std::string> ResourceClaimController::HandleClaim(const Object& pod, const PodClaim& entry) {
  if (entry.template_name.empty()) return std::string();
  if (entry.claim_name) {
    if (entry.claim_name->empty()) return std::string();
    const ObjectPtr claim =
        context_.store().Get(Kinds().resource_claims, ObjectKey(pod.ns, *entry.claim_name));
    // A recorded claim that was deleted, or replaced by another one, is created again.
    if (claim && IsControlledBy(claim->Parse().root(), pod.uid)) return std::string();
  }
  // Created by a pass that could not record it.
  if (std::string orphan = FindOrphan(pod, entry); !orphan.empty()) return orphan;
  return CreateClaim(pod, entry);
}

std::string ResourceClaimController::FindOrphan(const Object& pod, const PodClaim& entry) const {
  for (const ObjectPtr& claim : context_.view.DependentsOf(pod.uid, Kinds().resource_claims)) {
    const Document document = claim->Parse();
    const json::value* name =
        Find(ObjectOrEmpty(document.root(), "metadata.annotations"), kPodClaimAnnotation);
    if (name != nullptr && *name == json::value(entry.name) && IsControlledBy(document.root(), pod.uid))
      return claim->name;
  }
  return {};
}

ApiResult<std::string> ResourceClaimController::CreateClaim(const Object& pod, const PodClaim& entry) {
  const ObjectPtr source =
      context_.store().Get(Kinds().resource_claim_templates, ObjectKey(pod.ns, entry.template_name));
  if (!source) {
    ApiError error;
    error.code = 404;
    error.message = fmt::format(
        "resource claim template \"{0}\": resourceclaimtemplate.resource.k8s.io \"{0}\" not found",
        entry.template_name);
    return std::unexpected(std::move(error));
  }
  const Document from = source->Parse();
  Document claim;
  json::object& metadata = ObjectAt(claim.root(), "metadata");
  metadata["generateName"] = ClaimNameBase(pod.name, entry.name);
  json::object& annotations = ObjectAt(metadata, "annotations");
  annotations = ObjectOrEmpty(from.root(), "spec.metadata.annotations");
  annotations[kPodClaimAnnotation] = entry.name;
  if (const json::object* labels = FindObject(from.root(), "spec.metadata.labels"))
    metadata["labels"] = *labels;
  metadata["ownerReferences"] = json::array{json::object{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod.name}, {"uid", pod.uid}, {"controller", true}}};
  claim.root()["spec"] = ObjectOrEmpty(from.root(), "spec.spec");
  auto created = context_.verbs.Create(Kinds().resource_claims, pod.ns, std::move(claim));
  if (!created) return std::unexpected(WithContext("create ResourceClaim : ", std::move(created.error())));
  return (*created)->name;
}

void ResourceClaimController::RecordClaims(const Object& pod,
                                           const std::map<std::string, std::string>& created) {
  context_.verbs.Rewrite(PlaceOf(pod), pod.uid, [&](json::object& document) {
    std::map<std::string, std::string> names = created;
    for (const auto& known : ArrayOrEmpty(document, "status.resourceClaimStatuses")) {
      if (known.is_object() && known.get_object().contains("resourceClaimName"))
        names.emplace(FindString(known.get_object(), "name"),
                      FindString(known.get_object(), "resourceClaimName"));
    }
    json::array statuses;
    for (const auto& [entry, claim] : names)
      statuses.push_back(json::object{{"name", entry}, {"resourceClaimName", claim}});
    ObjectAt(document, "status")["resourceClaimStatuses"] = std::move(statuses);
  });
}

// A pod that was bound without its claims, by a client or before they were allocated. False: try again later.
bool ResourceClaimController::ReserveClaims(const Object& pod) {
  const ObjectPtr current = context_.store().Get(Known().pods, pod.key);
  if (!current || current->uid != pod.uid) return true;
  for (const auto& entry : ClaimsOf(current->Parse().root())) {
    if (entry.name.empty() || !entry.claim_name || entry.claim_name->empty()) continue;
    const Place place{Kinds().resource_claims, pod.ns, *entry.claim_name};
    const ObjectPtr claim = context_.store().Get(place.type, place.key());
    if (!claim) return true;  // its creation triggers the next reconcile
    const Document document = claim->Parse();
    if (!entry.template_name.empty() && !IsControlledBy(document.root(), pod.uid)) return false;
    if (!IsAllocated(document.root()) || IsReservedFor(document.root(), pod.uid)) continue;
    const auto reserve = [&](json::object& changed) -> ApiResult<> {
      ArrayAt(ObjectAt(changed, "status"), "reservedFor")
          .push_back(json::object{{"resource", "pods"}, {"name", pod.name}, {"uid", pod.uid}});
      return {};
    };
    if (!context_.verbs.Edit(place, Part::kStatus, reserve)) return false;
  }
  return true;
}

// --- claims: end reservations ---

ResourceClaimController::Outcome ResourceClaimController::SyncClaim(const std::string& key) {
  const ObjectPtr claim = context_.store().Get(Kinds().resource_claims, key);
  if (!claim) return {};
  const Document document = claim->Parse();
  const json::array remaining = RemainingConsumers(*claim, document.root());
  const std::size_t consumers = ArrayOrEmpty(document.root(), "status.reservedFor").size();
  bool done = true;
  if (remaining.size() < consumers || (claim->deleting && remaining.empty() && IsProtected(document.root())))
    done = ReleaseConsumers(*claim, remaining);
  if (remaining.empty()) DeleteIfUnused(*claim, document.root());
  return {.objects_read = consumers, .failed = !done};
}

// The entries of status.reservedFor without pods that need the claim no longer.
json::array ResourceClaimController::RemainingConsumers(const Object& claim,
                                                        const json::object& document) const {
  json::array remaining = ArrayOrEmpty(document, "status.reservedFor");
  EraseIf(remaining, [&](const json::value& value) {
    if (!value.is_object()) return false;
    const json::object& consumer = value.get_object();
    if (!FindString(consumer, "apiGroup").empty() || FindString(consumer, "resource") != "pods") return false;
    const PodFacts* pod = context_.view.Pod(ObjectKey(claim.ns, FindString(consumer, "name")));
    return pod == nullptr || pod->object->uid != FindString(consumer, "uid") || IsDone(*pod);
  });
  return remaining;
}

// Writes the remaining consumers. Without any, the claim is deallocated, so that its next consumer is not
// tied to the node of the previous one; the finalizer is removed by a second write, as in
// kube-controller-manager.
bool ResourceClaimController::ReleaseConsumers(const Object& claim, const json::array& remaining) {
  const auto release = [&](json::object& document) -> ApiResult<> {
    json::object& status = ObjectAt(document, "status");
    if (!remaining.empty()) {
      status["reservedFor"] = remaining;
      return {};
    }
    status.erase("reservedFor");
    if (IsProtected(document)) status.erase("allocation");
    return {};
  };
  const auto written = context_.verbs.Edit(PlaceOf(claim), Part::kStatus, release);
  if (!written) return false;
  const Document document = (*written)->Parse();
  return !IsProtected(document.root()) || IsAllocated(document.root()) || RemoveFinalizer(claim);
}

bool ResourceClaimController::RemoveFinalizer(const Object& claim) {
  const auto remove = [](json::object& document) -> ApiResult<> {
    json::object& metadata = ObjectAt(document, "metadata");
    auto& finalizers = ArrayAt(metadata, "finalizers");
    EraseIf(finalizers, [](const json::value& name) { return name == json::value(kClaimFinalizer); });
    if (finalizers.empty()) metadata.erase("finalizers");
    return {};
  };
  return context_.verbs.Edit(PlaceOf(claim), Part::kMain, remove).has_value();
}

// A claim made from a template is not needed after its pod has ended, although the pod may exist for a while.
// If the pod is gone, the garbage collector deletes the claim.
void ResourceClaimController::DeleteIfUnused(const Object& claim, const json::object& document) {
  const json::object* owner = ControllerOf(document);
  if (owner == nullptr || FindString(*owner, "apiVersion") != "v1" || FindString(*owner, "kind") != "Pod")
    return;
  const PodFacts* pod = context_.view.Pod(ObjectKey(claim.ns, FindString(*owner, "name")));
  if (pod == nullptr || (pod->object->uid == FindString(*owner, "uid") && !IsDone(*pod))) return;
  DeleteOptions options;
  options.uid = claim.uid;
  (void)context_.verbs.Delete(PlaceOf(claim), options);  // the removal of the finalizer may have deleted it
}

}  // namespace berth::sandbox
