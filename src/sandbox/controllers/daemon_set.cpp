#include "sandbox/controllers/daemon_set.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sandbox/controllers/node_selector.hpp"

namespace berth::sandbox {
namespace {

constexpr std::size_t kDaemonBurst = 250;  // pods created or deleted in one reconcile

void AddDaemonTolerations(json::object& spec) {
  auto& tolerations = ArrayAt(spec, "tolerations");
  const auto add = [&](std::string_view key, std::string_view effect) {
    const json::object toleration{{"key", key}, {"operator", "Exists"}, {"effect", effect}};
    if (std::ranges::find(tolerations, json::value(toleration)) == tolerations.end())
      tolerations.push_back(toleration);
  };
  add("node.kubernetes.io/not-ready", "NoExecute");
  add("node.kubernetes.io/unreachable", "NoExecute");
  add("node.kubernetes.io/disk-pressure", "NoSchedule");
  add("node.kubernetes.io/memory-pressure", "NoSchedule");
  add("node.kubernetes.io/pid-pressure", "NoSchedule");
  add("node.kubernetes.io/unschedulable", "NoSchedule");
  if (BoolAt(spec, "hostNetwork")) add("node.kubernetes.io/network-unavailable", "NoSchedule");
}

// Replaces the node affinity terms of the template, which have been evaluated already.
void TieToNode(json::object& spec, const std::string& node) {
  const json::object field{
      {"key", "metadata.name"}, {"operator", "In"}, {"values", json::array{json::value(node)}}};
  const json::object term{{"matchFields", json::array{field}}};
  json::object& affinity = ObjectAt(ObjectAt(spec, "affinity"), "nodeAffinity");
  affinity["requiredDuringSchedulingIgnoredDuringExecution"] =
      json::object{{"nodeSelectorTerms", json::array{term}}};
}

std::string TiedTo(const json::object& pod) {
  for (const auto& term : ArrayOrEmpty(
           pod,
           "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms")) {
    if (!term.is_object()) continue;
    for (const auto& field : ArrayOrEmpty(term.get_object(), "matchFields")) {
      if (!field.is_object() || FindString(field.get_object(), "key") != "metadata.name") continue;
      const auto& values = ArrayOrEmpty(field.get_object(), "values");
      if (values.size() == 1 && values[0].is_string()) return std::string(values[0].get_string());
    }
  }
  return {};
}

}  // namespace

DaemonSetController::DaemonSetController(ControllerContext& context)
    : Controller(context, Kinds().daemon_sets, "daemonset-controller") {
  for (const auto& [_, node] : context.store().All(Known().nodes)) {
    OnChange(Known().nodes, {.version = 0, .before = nullptr, .after = node, .removed = nullptr});
  }
  for (const auto& [_, pod] : context.view.all()) OnPod(nullptr, &pod);
  EnqueueAll();
}

// Only labels and taints of nodes are relevant; heartbeats are not.
void DaemonSetController::OnChange(const ResourceType& type, const Change& change) {
  Controller::OnChange(type, change);
  if (&type != &Known().nodes) return;
  const std::string& name = change.subject().name;
  json::array taints;
  if (change.after && change.after->text.find("\"taints\":[") != std::string::npos) {
    const Document document = change.after->Parse();
    taints = ArrayOrEmpty(document.root(), "spec.taints");
  }
  const auto known = taints_.find(name);
  const bool same_taints = known == taints_.end() ? taints.empty() : known->second == taints;
  if (same_taints && change.before && change.after && change.before->labels == change.after->labels) return;
  if (taints.empty())
    taints_.erase(name);
  else
    taints_[name] = std::move(taints);
  for (const auto& [key, _] : context_.store().All(type_)) queue_.Add(key);
}

void DaemonSetController::OnPod(const PodFacts* before, const PodFacts* after) {
  Controller::OnPod(before, after);
  const PodFacts& pod = after != nullptr ? *after : *before;
  if (pod.owner_kind != type_.kind) return;
  if (after == nullptr || !after->node().empty()) {
    targets_.erase(pod.object->uid);
  } else if (!targets_.contains(pod.object->uid)) {
    targets_[pod.object->uid] = TiedTo(pod.object->Parse().root());
  }
}

std::string DaemonSetController::TargetOf(const PodFacts& pod) const {
  if (!pod.node().empty()) return pod.node();
  const auto found = targets_.find(pod.object->uid);
  return found == targets_.end() ? std::string() : found->second;
}

Controller::Outcome DaemonSetController::Reconcile(const ObjectPtr& object) {
  Plan plan{.object = object, .document = object->Parse(), .revision = {}, .pod_spec = {}, .pods = {}};
  const LabelSelector* selector = SelectorOf(*object);
  if (object->deleting || selector == nullptr) return {};
  if (selector->empty()) {
    Emit(*object, "Warning", "SelectingAll",
         "This daemon set is selecting all pods. A non-empty selector is required.");
    return {};
  }
  if (!Prepare(plan)) return {.failed = true};
  const LabelSelector copy = *selector;
  ClaimPods(*object, copy);
  Gather(plan);
  std::string failure;
  const bool more = Place(plan, failure);
  Gather(plan);
  if (!more && failure.empty() && FindString(plan.spec(), "updateStrategy.type") != "OnDelete") {
    Roll(plan);
    Gather(plan);
  }
  Report(plan);
  TruncateHistory(context_, *object, IntAt(plan.spec(), "revisionHistoryLimit", 10),
                  [&](const Revision& revision) { return revision.name() == plan.revision.name(); });
  if (more) return {.again_after = std::chrono::milliseconds(10)};
  return {.objects_read = plan.pods.size(), .failed = !failure.empty(), .again_after = plan.wait};
}

bool DaemonSetController::Prepare(Plan& plan) {
  auto revision = EnsureRevision(context_, *plan.object, plan.spec(), kRevisionHash);
  if (!revision) return false;
  plan.revision = std::move(*revision);
  plan.min_ready = IntAt(plan.spec(), "minReadySeconds");
  plan.pod_spec = ObjectOrEmpty(plan.spec(), "template.spec");
  AddDaemonTolerations(plan.pod_spec);
  return true;
}

void DaemonSetController::Gather(Plan& plan) const {
  plan.pods.clear();
  for (const PodFacts* pod : context_.view.PodsOf(plan.object->uid)) plan.pods[TargetOf(*pod)].push_back(pod);
}

DaemonSetController::Eligible DaemonSetController::EvaluateNode(const Plan& plan, const Object& node) const {
  const auto named = FindString(plan.pod_spec, "nodeName");
  if ((!named.empty() && named != node.name) || !MatchesNodeAffinity(plan.pod_spec, node)) return {};
  Eligible eligible{true, true};
  const auto found = taints_.find(node.name);
  if (found == taints_.end()) return eligible;
  const auto& tolerations = ArrayOrEmpty(plan.pod_spec, "tolerations");
  for (const auto& taint : found->second) {
    if (!taint.is_object() || ToleratesTaint(tolerations, taint.get_object())) continue;
    const auto effect = FindString(taint.get_object(), "effect");
    if (effect == "PreferNoSchedule") continue;
    eligible.run = false;
    if (effect == "NoExecute") eligible.stay = false;
  }
  return eligible;
}

bool DaemonSetController::Place(Plan& plan, std::string& failure) {
  std::vector<std::string> missing;
  std::vector<ObjectPtr> to_delete;
  auto unseen = plan.pods;
  for (const auto& [name, node] : context_.store().All(Known().nodes)) {
    const Eligible eligible = EvaluateNode(plan, *node);
    unseen.erase(name);
    const auto found = plan.pods.find(name);
    if (found == plan.pods.end()) {
      if (eligible.run) missing.push_back(name);
      continue;
    }
    bool has_old = false, has_new = false;  // during a surge there is one of each
    for (const PodFacts* pod : found->second) {
      if (pod->object->deleting) continue;
      if (pod->terminal()) {
        if (pod->failed()) {
          Emit(*plan.object, "Warning", "FailedDaemonPod",
               fmt::format("Found failed daemon pod {} on node {}, will try to kill it", pod->object->key,
                           name));
        } else {
          Emit(*plan.object, "Normal", "SucceededDaemonPod",
               fmt::format("Found succeeded daemon pod {} on node {}, will try to delete it",
                           pod->object->key, name));
        }
        to_delete.push_back(pod->object);
        continue;
      }
      bool& has = IsNew(plan, *pod) ? has_new : has_old;
      if (!eligible.stay || has) to_delete.push_back(pod->object);
      has = true;
    }
  }
  // Of pods on deleted nodes only unbound ones are deleted here; pod GC deletes the others.
  for (const auto& [_, pods] : unseen) {
    for (const PodFacts* pod : pods) {
      if (pod->node().empty() && !pod->object->deleting) to_delete.push_back(pod->object);
    }
  }
  const bool more = missing.size() > kDaemonBurst || to_delete.size() > kDaemonBurst;
  if (missing.size() > kDaemonBurst) missing.resize(kDaemonBurst);
  if (to_delete.size() > kDaemonBurst) to_delete.resize(kDaemonBurst);
  for (const auto& node : missing) {
    failure = CreateOn(plan, node);
    if (!failure.empty()) return false;
  }
  for (const auto& pod : to_delete) DeletePod(*plan.object, *pod);
  return more;
}

std::string DaemonSetController::CreateOn(const Plan& plan, const std::string& node) {
  const auto adjust = [&](json::object& pod) {
    json::object& labels = ObjectAt(ObjectAt(pod, "metadata"), "labels");
    const std::string* hash = plan.revision.object->Label(kRevisionHash);
    labels[kRevisionHash] = hash != nullptr ? *hash : std::string();
    labels["pod-template-generation"] = fmt::to_string(IntAt(plan.document.root(), "metadata.generation", 1));
    json::object& spec = ObjectAt(pod, "spec");
    AddDaemonTolerations(spec);
    TieToNode(spec, node);
  };
  const auto created = CreatePod(*plan.object, {ObjectOrEmpty(plan.spec(), "template"), {}, adjust});
  return created ? std::string() : created.error().message;
}

// --- new templates ---

bool DaemonSetController::IsNew(const Plan& plan, const PodFacts& pod) const {
  const std::string* hash = pod.object->Label(kRevisionHash);
  const std::string* wanted = plan.revision.object->Label(kRevisionHash);
  return hash != nullptr && wanted != nullptr && *hash == *wanted;
}

// Deletes unavailable old pods immediately, the others as far as maxUnavailable allows.
void DaemonSetController::Roll(Plan& plan) {
  std::int64_t desired = 0;
  for (const auto& [_, node] : context_.store().All(Known().nodes))
    desired += EvaluateNode(plan, *node).run ? 1 : 0;
  const json::object& rolling = ObjectOrEmpty(plan.spec(), "updateStrategy.rollingUpdate");
  const std::int64_t surge = ScaledValue(Find(rolling, "maxSurge"), desired, true);
  if (surge > 0) return RollWithSurge(plan, surge);
  std::int64_t room = ScaledValue(Find(rolling, "maxUnavailable"), desired, true, 1);
  std::vector<ObjectPtr> broken, available;
  std::int64_t healthy = 0;
  for (const auto& [_, pods] : plan.pods) {
    for (const PodFacts* pod : pods) {
      const bool is_available =
          !pod->object->deleting && pod->Available(plan.min_ready, context_.Now(), &plan.wait);
      healthy += is_available ? 1 : 0;
      if (IsNew(plan, *pod) || pod->object->deleting) continue;
      (is_available ? available : broken).push_back(pod->object);
    }
  }
  for (const auto& pod : broken) DeletePod(*plan.object, *pod);
  room -= std::max<std::int64_t>(desired - healthy, 0);
  for (std::size_t i = 0; i < available.size() && room > 0; ++i, --room)
    DeletePod(*plan.object, *available[i]);
}

// Creates a new pod beside the old one; the old one is deleted when the new one is available.
void DaemonSetController::RollWithSurge(Plan& plan, std::int64_t surge) {
  std::vector<ObjectPtr> to_delete;
  std::vector<std::string> grow;
  std::int64_t surging = 0;
  for (const auto& [node, pods] : plan.pods) {
    const PodFacts *old_pod = nullptr, *new_pod = nullptr;
    for (const PodFacts* pod : pods) {
      if (!pod->object->deleting) (IsNew(plan, *pod) ? new_pod : old_pod) = pod;
    }
    if (old_pod == nullptr) continue;
    if (new_pod == nullptr) {
      grow.push_back(node);
    } else if (new_pod->Available(plan.min_ready, context_.Now(), &plan.wait) || !old_pod->ready) {
      to_delete.push_back(old_pod->object);
    } else {
      ++surging;
    }
  }
  for (const auto& pod : to_delete) DeletePod(*plan.object, *pod);
  for (const auto& node : grow) {
    if (surging++ >= surge || !CreateOn(plan, node).empty()) break;
  }
}

void DaemonSetController::Report(Plan& plan) {
  std::int64_t desired = 0, current = 0, misplaced = 0, ready = 0, updated = 0, available = 0;
  for (const auto& [name, node] : context_.store().All(Known().nodes)) {
    const Eligible eligible = EvaluateNode(plan, *node);
    const auto found = plan.pods.find(name);
    desired += eligible.run ? 1 : 0;
    if (found == plan.pods.end()) continue;
    if (!eligible.run) {
      ++misplaced;
      continue;
    }
    ++current;
    // The oldest ready pod counts for the node, as in kube-controller-manager.
    const PodFacts* pod = *std::ranges::min_element(found->second, {}, [](const PodFacts* p) {
      return std::pair(!p->ready || p->object->deleting, p->created);
    });
    updated += IsNew(plan, *pod) ? 1 : 0;
    if (!pod->ready) continue;
    ++ready;
    available += pod->Available(plan.min_ready, context_.Now(), &plan.wait) ? 1 : 0;
  }
  json::object status = ObjectOrEmpty(plan.document.root(), "status");
  const auto set = [&](std::string_view key, std::int64_t count) {
    if (count != 0)
      status[key] = count;
    else
      status.erase(key);
  };
  status["currentNumberScheduled"] = current;
  status["numberMisscheduled"] = misplaced;
  status["desiredNumberScheduled"] = desired;
  status["numberReady"] = ready;
  status["observedGeneration"] = IntAt(plan.document.root(), "metadata.generation", 1);
  set("updatedNumberScheduled", updated);
  set("numberAvailable", available);
  set("numberUnavailable", desired - available);
  WriteStatus(*plan.object, status);
}

}  // namespace berth::sandbox
