#include "sandbox/controllers/stateful_set/stateful_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace berth::sandbox {
namespace {

constexpr std::string_view kHashOfRevision = "controller.kubernetes.io/hash";
constexpr std::size_t kSetBurst = 500;  // pods that a Parallel set creates in one reconcile

// "web-3" of the set "web": 3; nullopt if it is not a name of that set's pods.
std::optional<std::int64_t> OrdinalOf(const std::string& set, const std::string& pod) {
  if (!pod.starts_with(set + "-")) return std::nullopt;
  const std::string_view text = std::string_view(pod).substr(set.size() + 1);
  std::int64_t ordinal = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
  if (error != std::errc() || end != text.data() + text.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

std::string RevisionOf(const PodFacts& pod) {
  const std::string* hash = pod.object->Label(kRevisionHash);
  return hash != nullptr ? *hash : std::string();
}

}  // namespace

StatefulSetController::StatefulSetController(ControllerContext& context)
    : Controller(context, Kinds().stateful_sets, "statefulset-controller") {
  EnqueueAll();
}

Controller::Outcome StatefulSetController::Reconcile(const ObjectPtr& object) {
  Plan plan{.object = object,
            .document = object->Parse(),
            .current = {},
            .update = {},
            .pods = {},
            .condemned = {}};
  if (object->deleting || SelectorOf(*object) == nullptr) return {};
  if (!Prepare(plan)) return {.failed = true};
  const LabelSelector selector = *SelectorOf(*object);
  Sort(plan, ClaimPods(*object, selector));
  std::string failure;
  if (!Fill(plan, failure) && !Shrink(plan)) Update(plan);
  Sort(plan, context_.view.PodsOf(object->uid));
  Report(plan);
  const std::int64_t limit = IntAt(plan.spec(), "revisionHistoryLimit", 10);
  TruncateHistory(context_, *object, limit, [&](const Revision& revision) {
    return revision.name() == plan.current.name() || revision.name() == plan.update.name();
  });
  return {.objects_read = plan.pods.size(), .failed = !failure.empty(), .again_after = plan.wait};
}

bool StatefulSetController::Prepare(Plan& plan) {
  const json::object& spec = plan.spec();
  plan.replicas = IntAt(spec, "replicas", 1);
  plan.start = IntAt(spec, "ordinals.start");
  plan.partition = IntAt(spec, "updateStrategy.rollingUpdate.partition");
  plan.max_unavailable = std::max<std::int64_t>(
      ScaledValue(FindPath(spec, "updateStrategy.rollingUpdate.maxUnavailable"), plan.replicas, false, 1), 1);
  plan.min_ready = IntAt(spec, "minReadySeconds");
  plan.ordered = FindString(spec, "podManagementPolicy") != "Parallel";
  plan.rolling = FindString(spec, "updateStrategy.type") != "OnDelete";
  auto update = EnsureRevision(context_, *plan.object, spec, kHashOfRevision);
  if (!update) return false;
  plan.update = plan.current = *update;
  const auto current = FindString(plan.document.root(), "status.currentRevision");
  for (auto& revision : RevisionsOf(context_, *plan.object)) {
    if (revision.name() == current) plan.current = std::move(revision);
  }
  return true;
}

void StatefulSetController::Sort(Plan& plan, const std::vector<const PodFacts*>& pods) const {
  plan.pods.clear();
  plan.condemned.clear();
  for (const PodFacts* pod : pods) {
    const auto ordinal = OrdinalOf(plan.object->name, pod->object->name);
    if (!ordinal) continue;
    const bool wanted = *ordinal >= plan.start && *ordinal < plan.start + plan.replicas;
    (wanted ? plan.pods : plan.condemned)[*ordinal] = pod;
  }
}

bool StatefulSetController::Healthy(const PodFacts& pod, Plan& plan) const {
  return pod.phase() == "Running" && !pod.object->deleting &&
         pod.Available(plan.min_ready, context_.Now(), &plan.wait);
}

bool StatefulSetController::Fill(Plan& plan, std::string& failure) {
  std::size_t made = 0;
  for (std::int64_t ordinal = plan.start; ordinal < plan.start + plan.replicas; ++ordinal) {
    const auto found = plan.pods.find(ordinal);
    if (found == plan.pods.end()) {
      failure = CreateOrdinal(plan, ordinal);
      if (!failure.empty() || plan.ordered) return true;
      if (++made >= kSetBurst) {
        plan.wait = std::chrono::milliseconds(10);
        return true;
      }
      continue;
    }
    // Read again: a creation above may have replaced pods.
    const PodFacts& pod = *found->second;
    if (pod.terminal()) {
      if (!pod.object->deleting) Replace(plan, pod);
      if (plan.ordered) return true;
      Sort(plan, context_.view.PodsOf(plan.object->uid));
      continue;
    }
    if (plan.ordered && !Healthy(pod, plan)) return true;
  }
  return false;
}

// Deletes from the highest ordinal down.
bool StatefulSetController::Shrink(Plan& plan) {
  std::vector<ObjectPtr> to_delete;
  for (auto it = plan.condemned.rbegin(); it != plan.condemned.rend(); ++it) {
    const PodFacts& pod = *it->second;
    if (pod.object->deleting) {
      if (plan.ordered) return true;
      continue;
    }
    to_delete.push_back(pod.object);
    if (plan.ordered) break;
  }
  for (const auto& pod : to_delete) {
    if (const PodFacts* facts = context_.view.Pod(pod->key)) DeleteOrdinal(plan, *facts);
  }
  return plan.ordered && !to_delete.empty();
}

// Updates as many pods as maxUnavailable allows, from the highest ordinal down to the partition. Pods of a
// Parallel set that are not available anyway are not limited.
void StatefulSetController::Update(Plan& plan) {
  if (!plan.rolling) return;
  std::int64_t budget = plan.max_unavailable - (plan.replicas - static_cast<std::int64_t>(plan.pods.size()));
  std::vector<ObjectPtr> limited, unlimited;
  for (auto it = plan.pods.rbegin(); it != plan.pods.rend(); ++it) {
    const PodFacts& pod = *it->second;
    const bool healthy = Healthy(pod, plan);
    if (!healthy) --budget;
    if (it->first - plan.start < plan.partition || pod.object->deleting ||
        RevisionOf(pod) == plan.update.name())
      continue;
    (healthy || plan.ordered ? limited : unlimited).push_back(pod.object);
  }
  limited.resize(std::min(limited.size(), static_cast<std::size_t>(std::max<std::int64_t>(budget, 0))));
  for (const auto& pods : {unlimited, limited}) {
    for (const auto& pod : pods) {
      if (const PodFacts* facts = context_.view.Pod(pod->key)) DeleteOrdinal(plan, *facts);
    }
  }
}

std::string StatefulSetController::CreateOrdinal(const Plan& plan, std::int64_t ordinal) {
  // Below the partition, and below pods that still run the old revision, pods are recreated with the old
  // revision.
  const std::int64_t place = ordinal - plan.start;
  const std::int64_t still_old =
      plan.partition == 0 ? IntAt(plan.document.root(), "status.currentReplicas") : plan.partition;
  const bool old = plan.rolling && plan.current.name() != plan.update.name() && place < still_old;
  const Revision& revision = old ? plan.current : plan.update;
  const std::string name = fmt::format("{}-{}", plan.object->name, ordinal);
  EnsureClaims(plan, ordinal, name);
  const json::object* data = revision.data.if_object();  // clients can write any value
  const json::object pod_template = data != nullptr ? ObjectOrEmpty(*data, "spec.template") : json::object();
  const auto adjust = [&](json::object& pod) {
    json::object& labels = ObjectAt(ObjectAt(pod, "metadata"), "labels");
    labels["apps.kubernetes.io/pod-index"] = fmt::to_string(ordinal);
    labels[kRevisionHash] = revision.name();
    labels["statefulset.kubernetes.io/pod-name"] = name;
    json::object& spec = ObjectAt(pod, "spec");
    spec["hostname"] = name;
    if (const auto service = FindString(plan.spec(), "serviceName"); !service.empty())
      spec["subdomain"] = service;
    for (const auto& claim : ArrayOrEmpty(plan.spec(), "volumeClaimTemplates")) {
      if (!claim.is_object()) continue;
      const std::string volume(FindString(claim.get_object(), "metadata.name"));
      auto& volumes = ArrayAt(spec, "volumes");
      EraseIf(volumes, [&](const json::value& v) {
        return v.is_object() && FindString(v.get_object(), "name") == volume;
      });
      const json::object source{{"claimName", fmt::format("{}-{}", volume, name)}};
      volumes.push_back(json::object{{"name", volume}, {"persistentVolumeClaim", source}});
    }
  };
  // Not CreatePod: the events of StatefulSets have their own texts.
  Document document;
  json::object& metadata = ObjectAt(document.root(), "metadata");
  metadata["name"] = name;
  for (const std::string_view key : {"labels", "annotations", "finalizers"}) {
    if (const json::value* value = FindPath(pod_template, fmt::format("metadata.{}", key)))
      metadata[key] = *value;
  }
  metadata["ownerReferences"] = json::array{ControllerRef(*plan.object)};
  document.root()["spec"] = ObjectOrEmpty(pod_template, "spec");
  adjust(document.root());
  const auto created = context_.verbs.Create(Known().pods, plan.object->ns, std::move(document));
  const std::string what = fmt::format("create Pod {} in StatefulSet {}", name, plan.object->name);
  if (created) {
    Emit(*plan.object, "Normal", "SuccessfulCreate", what + " successful");
    return {};
  }
  Emit(*plan.object, "Warning", "FailedCreate",
       fmt::format("{} failed error: {}", what, created.error().message));
  return created.error().message;
}

void StatefulSetController::EnsureClaims(const Plan& plan, std::int64_t /*ordinal*/,
                                         const std::string& pod_name) {
  for (const auto& value : ArrayOrEmpty(plan.spec(), "volumeClaimTemplates")) {
    if (!value.is_object()) continue;
    const std::string name = fmt::format("{}-{}", FindString(value.get_object(), "metadata.name"), pod_name);
    if (context_.store().Get(Kinds().claims, ObjectKey(plan.object->ns, name))) continue;
    Document claim;
    claim.root()["metadata"] = ObjectOrEmpty(value.get_object(), "metadata");
    json::object& metadata = ObjectAt(claim.root(), "metadata");
    metadata.erase("creationTimestamp");
    metadata["name"] = name;
    json::object& labels = ObjectAt(metadata, "labels");
    for (const auto& label : ObjectOrEmpty(plan.spec(), "selector.matchLabels"))
      labels[label.key()] = label.value();
    claim.root()["spec"] = ObjectOrEmpty(value.get_object(), "spec");
    const auto created = context_.verbs.Create(Kinds().claims, plan.object->ns, std::move(claim));
    const std::string what =
        fmt::format("create Claim {} Pod {} in StatefulSet {}", name, pod_name, plan.object->name);
    if (created)
      Emit(*plan.object, "Normal", "SuccessfulCreate", what + " success");
    else
      Emit(*plan.object, "Warning", "FailedCreate",
           fmt::format("{} failed error: {}", what, created.error().message));
  }
}

void StatefulSetController::Replace(const Plan& plan, const PodFacts& pod) {
  const bool failed = pod.failed();
  Emit(*plan.object, failed ? "Warning" : "Normal",
       failed ? "RecreatingFailedPod" : "RecreatingTerminatedPod",
       fmt::format("StatefulSet {} is recreating {} Pod {}", plan.object->key,
                   failed ? "failed" : "terminated", pod.object->name));
  DeleteOrdinal(plan, pod);
}

void StatefulSetController::DeleteOrdinal(const Plan& plan, const PodFacts& pod) {
  const std::string name = pod.object->name;
  DeleteOptions options;
  options.uid = pod.object->uid;
  if (context_.verbs.Delete(PlaceOf(*pod.object), options)) {
    Emit(*plan.object, "Normal", "SuccessfulDelete",
         fmt::format("delete Pod {} in StatefulSet {} successful", name, plan.object->name));
  }
}

void StatefulSetController::Report(Plan& plan) {
  std::int64_t replicas = 0, ready = 0, available = 0, current = 0, updated = 0;
  for (const auto* part : {&plan.pods, &plan.condemned}) {
    for (const auto& [_, pod] : *part) {
      if (pod->terminal()) continue;
      ++replicas;
      const bool is_ready = pod->phase() == "Running" && pod->ready;
      ready += is_ready ? 1 : 0;
      available += is_ready && pod->Available(plan.min_ready, context_.Now(), &plan.wait) ? 1 : 0;
      if (pod->object->deleting) continue;
      const std::string revision = RevisionOf(*pod);
      current += revision == plan.current.name() ? 1 : 0;
      updated += revision == plan.update.name() ? 1 : 0;
    }
  }
  const bool done = plan.rolling && updated == replicas && ready == replicas && updated == plan.replicas;
  if (done) {
    plan.current = plan.update;
    current = updated;
  }
  json::object status = ObjectOrEmpty(plan.document.root(), "status");
  const auto set = [&](std::string_view key, std::int64_t count) {
    if (count != 0)
      status[key] = count;
    else
      status.erase(key);
  };
  status["observedGeneration"] = IntAt(plan.document.root(), "metadata.generation", 1);
  status["replicas"] = replicas;
  set("readyReplicas", ready);
  set("currentReplicas", current);
  set("updatedReplicas", updated);
  status["availableReplicas"] = available;
  status["currentRevision"] = plan.current.name();
  status["updateRevision"] = plan.update.name();
  if (!status.contains("collisionCount")) status["collisionCount"] = 0;
  WriteStatus(*plan.object, status);
}

}  // namespace berth::sandbox
