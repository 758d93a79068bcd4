#include "sandbox/controllers/volumes/volumes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sandbox/controllers/volumes/matching.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr std::string_view kBoundByController = "pv.kubernetes.io/bound-by-controller";
constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr std::string_view kProvisionedBy = "pv.kubernetes.io/provisioned-by";
constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
constexpr std::string_view kDefaultClass = "storageclass.kubernetes.io/is-default-class";

std::string AnnotationOf(const json::object& document, std::string_view key) {
  const json::value* value = Find(ObjectOrEmpty(document, "metadata.annotations"), key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

void Annotate(json::object& document, std::string_view key, std::string_view value) {
  ObjectAt(ObjectAt(document, "metadata"), "annotations")[key] = value;
}

bool IsDelayed(const json::object& storage_class) {
  return FindString(storage_class, "volumeBindingMode") == "WaitForFirstConsumer";
}

json::object ClaimRef(const Object& claim) {
  return {{"kind", "PersistentVolumeClaim"},
          {"namespace", claim.ns},
          {"name", claim.name},
          {"uid", claim.uid},
          {"apiVersion", "v1"},
          {"resourceVersion", fmt::to_string(claim.version)}};
}

}  // namespace

VolumeController::VolumeController(ControllerContext& context, const VolumeOptions& options)
    : context_(context),
      options_(options),
      claims_(context.timers, context.verbs.clock(),
              [this](const std::string& key) { return SyncClaim(key); }),
      volumes_(context.timers, context.verbs.clock(),
               [this](const std::string& name) { return SyncVolume(name); }) {
  for (const ResourceType* type : {&Kinds().volumes, &Kinds().claims}) {
    for (const auto& [_, object] : context.store().All(*type)) {
      OnChange(*type, {.version = 0, .before = nullptr, .after = object, .removed = nullptr});
    }
  }
  context.store().Observe(*this);
}

void VolumeController::OnChange(const ResourceType& type, const Change& change) {
  const Object& subject = change.subject();
  if (&type == &Kinds().claims) {
    claims_.Add(subject.key);
    const Document document = subject.Parse();
    if (const auto volume = FindString(document.root(), "spec.volumeName"); !volume.empty())
      volumes_.Add(std::string(volume));
    if (!change.after) unbound_.erase(subject.key);
  } else if (&type == &Kinds().volumes) {
    volumes_.Add(subject.name);
    EnqueueClaimsOf(subject.Parse().root());
  } else if (&type == &Kinds().storage_classes) {
    for (const auto& key : unbound_) claims_.Add(key);
  }
}

// Enqueues the claim that the volume is reserved for, or all unbound claims if it is not reserved.
void VolumeController::EnqueueClaimsOf(const json::object& volume) {
  const auto name = FindString(volume, "spec.claimRef.name");
  if (!name.empty()) {
    claims_.Add(ObjectKey(FindString(volume, "spec.claimRef.namespace"), name));
  } else {
    for (const auto& key : unbound_) claims_.Add(key);
  }
}

void VolumeController::Emit(const Object& about, std::string_view type, std::string_view reason,
                            const std::string& message, std::string_view component) {
  context_.events.Record(about, type, reason, message, component);
}

// --- claims ---

VolumeController::Outcome VolumeController::SyncClaim(const std::string& key) {
  const ObjectPtr claim = context_.store().Get(Kinds().claims, key);
  if (!claim) return {};
  const Document document = claim->Parse();
  const json::object& root = document.root();
  const std::string volume_name(FindString(root, "spec.volumeName"));
  if (volume_name.empty()) {
    if (!claim->deleting) {
      unbound_.insert(key);
      AwaitVolume(*claim, root);
    }
    return {};
  }
  unbound_.erase(key);
  const ObjectPtr volume = context_.store().Get(Kinds().volumes, volume_name);
  const bool was_bound = !AnnotationOf(root, kBindCompleted).empty();
  if (!volume) {
    if (was_bound && FindString(root, "status.phase") != "Lost") {
      SetClaimPhase(*claim, "Lost", nullptr);
      Emit(*claim, "Warning", "ClaimLost",
           "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
    } else if (!was_bound) {
      SetClaimPhase(*claim, "Pending", nullptr);
    }
    return {};
  }
  const Document volume_document = volume->Parse();
  const json::object& reference = ObjectOrEmpty(volume_document.root(), "spec.claimRef");
  const auto uid = FindString(reference, "uid");
  const bool matches = reference.empty() ||
                       (FindString(reference, "namespace") == claim->ns &&
                        FindString(reference, "name") == claim->name && (uid.empty() || uid == claim->uid));
  if (matches) {
    Bind(*claim, *volume);
  } else if (was_bound && FindString(root, "status.phase") != "Lost") {
    SetClaimPhase(*claim, "Lost", nullptr);
    Emit(*claim, "Warning", "ClaimMisbound",
         "Two claims are bound to the same volume, this one is bound incorrectly");
  }
  return {};
}

void VolumeController::AwaitVolume(const Object& claim, const json::object& document) {
  const json::value* named = FindPath(document, "spec.storageClassName");
  std::string class_name(named != nullptr && named->is_string() ? std::string_view(named->get_string()) : "");
  if (class_name.empty()) class_name = AnnotationOf(document, "volume.beta.kubernetes.io/storage-class");
  if (named == nullptr && class_name.empty()) {
    if (const ObjectPtr standard = DefaultClass()) {
      context_.verbs.Rewrite(PlaceOf(claim), claim.uid, [&](json::object& changed) {
        ObjectAt(changed, "spec")["storageClassName"] = standard->name;
      });
      return;  // the change triggers the next reconcile
    }
  }
  const ObjectPtr storage_class =
      class_name.empty() ? nullptr : context_.store().Get(Kinds().storage_classes, class_name);
  const Document class_document = storage_class ? storage_class->Parse() : Document();
  const bool waits =
      storage_class && IsDelayed(class_document.root()) && AnnotationOf(document, kSelectedNode).empty();
  if (const ObjectPtr volume = FindVolume(claim, document, class_name, waits)) return Bind(claim, *volume);
  SetClaimPhase(claim, "Pending", nullptr);
  if (waits) {
    Emit(claim, "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding");
  } else if (class_name.empty()) {
    Emit(claim, "Normal", "FailedBinding",
         "no persistent volumes available for this claim and no storage class is set");
  } else if (!storage_class) {
    Emit(claim, "Warning", "ProvisioningFailed",
         fmt::format("storageclass.storage.k8s.io \"{}\" not found", class_name));
  } else {
    Provision(claim, document, *storage_class);
  }
}

// The smallest volume that fits; a volume reserved for this claim has precedence. While the claim waits for
// its first consumer, only a reserved volume is used.
ObjectPtr VolumeController::FindVolume(const Object& claim, const json::object& document,
                                       const std::string& class_name, bool delayed) const {
  const std::string node_name = AnnotationOf(document, kSelectedNode);
  const ObjectPtr node = node_name.empty() ? nullptr : context_.store().Get(Known().nodes, node_name);
  ObjectPtr best;
  std::optional<api::Quantity> best_size;
  for (const auto& [_, volume] : context_.store().All(Kinds().volumes)) {
    if (volume->deleting) continue;
    const Document volume_document = volume->Parse();
    const json::object& spec = ObjectOrEmpty(volume_document.root(), "spec");
    const json::object& reference = ObjectOrEmpty(spec, "claimRef");
    if (!reference.empty()) {
      const auto uid = FindString(reference, "uid");
      if (FindString(reference, "namespace") == claim.ns && FindString(reference, "name") == claim.name &&
          (uid.empty() || uid == claim.uid)) {
        return volume;
      }
      continue;
    }
    const std::optional<api::Quantity> size =
        delayed ? std::nullopt : Fit(ObjectOrEmpty(document, "spec"), *volume, spec, class_name, node.get());
    if (size && (!best_size || size->Compare(*best_size) < 0)) {
      best = volume;
      best_size = size;
    }
  }
  return best;
}

ObjectPtr VolumeController::DefaultClass() const {
  ObjectPtr newest;
  std::string created;
  for (const auto& [_, storage_class] : context_.store().All(Kinds().storage_classes)) {
    const Document document = storage_class->Parse();
    if (AnnotationOf(document.root(), kDefaultClass) != "true") continue;
    const std::string time(FindString(document.root(), "metadata.creationTimestamp"));
    if (newest && time <= created) continue;
    newest = storage_class;
    created = time;
  }
  return newest;
}

void VolumeController::SetClaimPhase(const Object& claim, std::string_view phase,
                                     const json::object* volume_spec) {
  const ObjectPtr current = context_.store().Get(*claim.type, claim.key);
  if (!current) return;
  const Document document = current->Parse();
  json::object status = ObjectOrEmpty(document.root(), "status");
  status["phase"] = phase;
  if (volume_spec != nullptr) {
    if (const json::value* modes = Find(*volume_spec, "accessModes")) status["accessModes"] = *modes;
    if (const json::value* capacity = Find(*volume_spec, "capacity")) status["capacity"] = *capacity;
  }
  if (status == ObjectOrEmpty(document.root(), "status")) return;
  context_.verbs.Rewrite(PlaceOf(claim), claim.uid,
                         [&](json::object& changed) { changed["status"] = status; });
}

// Sets the references on both sides; writes only what differs.
void VolumeController::Bind(const Object& claim, const Object& volume) {
  const Document before = volume.Parse();
  const json::object& reference = ObjectOrEmpty(before.root(), "spec.claimRef");
  if (FindString(reference, "uid") != claim.uid) {
    context_.verbs.Rewrite(PlaceOf(volume), volume.uid, [&](json::object& document) {
      if (reference.empty()) Annotate(document, kBoundByController, "yes");
      ObjectAt(document, "spec")["claimRef"] = ClaimRef(claim);
    });
  }
  SetVolumePhase(volume, "Bound");
  const Document claim_document = claim.Parse();
  if (FindString(claim_document.root(), "spec.volumeName") != volume.name ||
      AnnotationOf(claim_document.root(), kBindCompleted).empty()) {
    context_.verbs.Rewrite(PlaceOf(claim), claim.uid, [&](json::object& document) {
      if (FindString(document, "spec.volumeName").empty()) Annotate(document, kBoundByController, "yes");
      Annotate(document, kBindCompleted, "yes");
      ObjectAt(document, "spec")["volumeName"] = volume.name;
    });
  }
  SetClaimPhase(claim, "Bound", &ObjectOrEmpty(before.root(), "spec"));
  unbound_.erase(claim.key);
}

// --- volumes ---

void VolumeController::SetVolumePhase(const Object& volume, std::string_view phase) {
  const ObjectPtr current = context_.store().Get(*volume.type, volume.key);
  if (!current || FindString(current->Parse().root(), "status.phase") == phase) return;
  context_.verbs.Rewrite(PlaceOf(volume), volume.uid, [&](json::object& document) {
    json::object& status = ObjectAt(document, "status");
    status["phase"] = phase;
    status["lastPhaseTransitionTime"] = context_.NowText();
  });
}

VolumeController::Outcome VolumeController::SyncVolume(const std::string& name) {
  const ObjectPtr volume = context_.store().Get(Kinds().volumes, name);
  if (!volume || volume->deleting) return {};
  const Document document = volume->Parse();
  const json::object& reference = ObjectOrEmpty(document.root(), "spec.claimRef");
  const auto uid = FindString(reference, "uid");
  if (uid.empty()) {
    SetVolumePhase(*volume, "Available");
    return {};
  }
  const ObjectPtr claim = context_.store().Get(
      Kinds().claims, ObjectKey(FindString(reference, "namespace"), FindString(reference, "name")));
  if (claim && claim->uid == uid) return {};
  // Its claim is gone.
  SetVolumePhase(*volume, "Released");
  if (FindString(document.root(), "spec.persistentVolumeReclaimPolicy") != "Delete") return {};
  (void)context_.verbs.Delete(PlaceOf(*volume), {});  // the volume may already be gone
  return {};
}

// --- provisioning ---

void VolumeController::Provision(const Object& claim, const json::object& document,
                                 const Object& storage_class) {
  const Document class_document = storage_class.Parse();
  const std::string provisioner(FindString(class_document.root(), "provisioner"));
  if (provisioner == kNoProvisioner) {
    Emit(claim, "Normal", "FailedBinding",
         "no persistent volumes available for this claim and no storage class is set");
    return;
  }
  if (AnnotationOf(document, "volume.kubernetes.io/storage-provisioner") != provisioner) {
    context_.verbs.Rewrite(PlaceOf(claim), claim.uid, [&](json::object& changed) {
      Annotate(changed, "volume.beta.kubernetes.io/storage-provisioner", provisioner);
      Annotate(changed, "volume.kubernetes.io/storage-provisioner", provisioner);
    });
  }
  Emit(claim, "Normal", "ExternalProvisioning",
       fmt::format(
           "Waiting for a volume to be created either by the external provisioner '{}' or manually by the "
           "system administrator. If volume creation is delayed, please verify that the provisioner is "
           "running and correctly registered.",
           provisioner));
  const std::string behaviour = AnnotationOf(class_document.root(), kProvisioning);
  if (behaviour == "never") return;
  if (behaviour == "fail") {
    Emit(claim, "Warning", "ProvisioningFailed",
         fmt::format("failed to provision volume with StorageClass \"{}\": simulated failure",
                     storage_class.name),
         provisioner);
    return;
  }
  if (!provisioning_.insert(claim.uid).second) return;
  context_.timers.After(options_.provision_time,
                        [this, key = claim.key, uid = claim.uid] { CreateVolume(key, uid); });
}

void VolumeController::CreateVolume(const std::string& claim_key, const std::string& uid) {
  provisioning_.erase(uid);
  const ObjectPtr claim = context_.store().Get(Kinds().claims, claim_key);
  if (!claim || claim->uid != uid || claim->deleting) return;
  const Document document = claim->Parse();
  const json::object& root = document.root();
  const std::string class_name(FindString(root, "spec.storageClassName"));
  const ObjectPtr storage_class = context_.store().Get(Kinds().storage_classes, class_name);
  if (!FindString(root, "spec.volumeName").empty() || !storage_class) return;
  const Document class_document = storage_class->Parse();
  const std::string provisioner(FindString(class_document.root(), "provisioner"));
  const std::string name = "pvc-" + claim->uid;
  Document volume;
  volume.root()["metadata"] =
      json::object{{"name", name}, {"annotations", json::object{{kProvisionedBy, provisioner}}}};
  json::object& spec = ObjectAt(volume.root(), "spec");
  if (const json::value* size = FindPath(root, "spec.resources.requests.storage"))
    spec["capacity"] = json::object{{"storage", *size}};
  for (const std::string_view key : {"accessModes", "volumeMode"}) {
    if (const json::value* value = FindPath(root, fmt::format("spec.{}", key))) spec[key] = *value;
  }
  const auto policy = FindString(class_document.root(), "reclaimPolicy");
  spec["persistentVolumeReclaimPolicy"] = policy.empty() ? "Delete" : policy;
  spec["storageClassName"] = class_name;
  spec["claimRef"] = ClaimRef(*claim);
  spec["csi"] = json::object{{"driver", provisioner}, {"volumeHandle", name}};
  const ObjectPtr node = context_.store().Get(Known().nodes, AnnotationOf(root, kSelectedNode));
  if (node) {
    if (json::object affinity = ZoneAffinity(*node); !affinity.empty())
      spec["nodeAffinity"] = std::move(affinity);
  }
  const auto created = context_.verbs.Create(Kinds().volumes, "", std::move(volume));
  if (created) {
    Emit(*claim, "Normal", "ProvisioningSucceeded", "Successfully provisioned volume " + name, provisioner);
    SetVolumePhase(**created, "Bound");
  } else if (created.error().code != 409) {
    Emit(*claim, "Warning", "ProvisioningFailed",
         fmt::format("failed to provision volume with StorageClass \"{}\": {}", class_name,
                     created.error().message),
         provisioner);
  }
}

}  // namespace berth::sandbox
