#include "sandbox/controllers/deployment/deployment.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::sandbox {

DeploymentController::DeploymentController(ControllerContext& context)
    : Controller(context, Kinds().deployments, "deployment-controller") {
  EnqueueAll();
}

// Besides deployments: their replica sets, and replica sets without a controller.
void DeploymentController::OnChange(const ResourceType& type, const Change& change) {
  Controller::OnChange(type, change);
  if (&type != &Kinds().replica_sets) return;
  const Document document = change.subject().Parse();
  const json::object* owner = ControllerOf(document.root());
  if (owner != nullptr) {
    if (FindString(*owner, "kind") == type_.kind)
      queue_.Add(ObjectKey(change.subject().ns, FindString(*owner, "name")));
  } else if (change.after) {
    for (const auto& [key, object] : context_.store().All(type_)) {
      if (object->ns == change.after->ns) queue_.Add(key);
    }
  }
}

// Recreate continues after the last old pod is gone.
void DeploymentController::OnPod(const PodFacts* before, const PodFacts* after) {
  if (before == nullptr || after != nullptr || before->owner_kind != "ReplicaSet") return;
  const ObjectPtr set =
      context_.store().Get(Kinds().replica_sets, ObjectKey(before->object->ns, before->owner_name));
  if (!set) return;
  const Document document = set->Parse();
  if (const json::object* owner = ControllerOf(document.root()))
    queue_.Add(ObjectKey(set->ns, FindString(*owner, "name")));
}

Controller::Outcome DeploymentController::Reconcile(const ObjectPtr& object) {
  const LabelSelector* selector = SelectorOf(*object);
  if (selector == nullptr) return {};
  if (selector->empty()) {
    Emit(*object, "Warning", "SelectingAll",
         "This deployment is selecting all pods. A non-empty selector is required.");
    return {};
  }
  Adopt(*object);
  State state = Read(object);
  if (object->deleting) {
    if (!FindCurrent(state, false)) return {};
  } else {
    RecordPause(state);
    const bool still = state.rollout.paused || NeedsScaling(state);
    if (auto found = FindCurrent(state, !still && !state.rollout.recreate); !found)
      return {.failed = found.error().code != 403};
    if (still)
      Scale(state);
    else if (state.rollout.recreate)
      Recreate(state);
    else
      Roll(state);
  }
  Summarize(state);
  const Duration deadline = CheckProgress(state);
  WriteStatus(*state.object, state.status);
  return {.objects_read = state.old.size(), .again_after = deadline};
}

// Adopts replica sets that match the selector and have no controller.
void DeploymentController::Adopt(const Object& deployment) {
  if (deployment.deleting) return;
  const LabelSelector selector = *SelectorOf(deployment);
  std::vector<ObjectPtr> orphans;
  const auto& sets = context_.store().All(Kinds().replica_sets);
  const std::string prefix = deployment.ns + "/";
  for (auto it = sets.lower_bound(prefix); it != sets.end() && it->first.starts_with(prefix); ++it) {
    if (it->second->deleting || !selector.Matches(*it->second)) continue;
    if (OwnerUids(*it->second).empty()) orphans.push_back(it->second);
  }
  for (const auto& set : orphans) {
    context_.verbs.Rewrite(PlaceOf(*set), set->uid, [&](json::object& document) {
      ArrayAt(ObjectAt(document, "metadata"), "ownerReferences").push_back(ControllerRef(deployment));
    });
  }
}

ReplicaSets DeploymentController::State::all() const {
  ReplicaSets sets = old;
  if (current) sets.push_back(*current);
  return sets;
}

DeploymentController::State DeploymentController::Read(const ObjectPtr& object) const {
  State state{
      .object = object, .document = object->Parse(), .rollout = {}, .current = {}, .old = {}, .status = {}};
  state.rollout = Rollout::Of(state.spec());
  state.status = ObjectOrEmpty(state.document.root(), "status");
  for (const auto& set : context_.view.DependentsOf(object->uid, Kinds().replica_sets)) {
    state.old.push_back(ReplicaSetFacts::Of(set));
  }
  std::ranges::sort(state.old, [](const auto& a, const auto& b) {
    return std::tie(a.created, a.object->name) < std::tie(b.created, b.object->name);
  });
  // Of several sets with the same template the oldest, as in kube-controller-manager.
  const json::object wanted = WithoutHash(ObjectOrEmpty(state.spec(), "template"));
  const auto same = std::ranges::find_if(state.old, [&](const auto& set) {
    const Document document = set.object->Parse();
    return WithoutHash(ObjectOrEmpty(document.root(), "spec.template")) == wanted;
  });
  if (same != state.old.end()) {
    state.current = std::move(*same);
    state.old.erase(same);
  }
  return state;
}

// A paused rollout does not exceed its progress deadline.
void DeploymentController::RecordPause(State& state) {
  if (!state.rollout.has_deadline()) return;
  const json::object* progress = FindCondition(state.status, "Progressing");
  const auto reason = progress != nullptr ? FindString(*progress, "reason") : std::string_view();
  if (reason == "ProgressDeadlineExceeded") return;
  const std::string now = context_.NowText();
  if (state.rollout.paused && reason != "DeploymentPaused") {
    SetCondition(state.status, {"Progressing", "Unknown", "DeploymentPaused", "Deployment is paused"}, now,
                 true);
  } else if (!state.rollout.paused && reason == "DeploymentPaused") {
    SetCondition(state.status, {"Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed"}, now,
                 true);
  }
}

bool DeploymentController::NeedsScaling(const State& state) const {
  return std::ranges::any_of(state.all(), [&](const auto& set) {
    return set.wanted > 0 && set.desired_annotation && *set.desired_annotation != state.rollout.replicas;
  });
}

// --- the replica set of the current template ---

ApiResult<> DeploymentController::FindCurrent(State& state, bool create) {
  std::int64_t revision = 0;
  for (const auto& set : state.old) revision = std::max(revision, set.revision);
  ++revision;
  if (!state.current) return create ? CreateCurrent(state, revision) : ApiResult<>();
  if (!state.object->deleting) UpdateCurrent(state, revision);
  return {};
}

namespace {

void CopyAnnotations(const json::object& deployment, json::object& annotations) {
  static constexpr std::string_view kOwn[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                              "deprecated.deployment.rollback.to",
                                              kRevision,
                                              kRevisionHistory,
                                              kDesiredReplicas,
                                              kMaxReplicas};
  for (const auto& entry : ObjectOrEmpty(deployment, "metadata.annotations")) {
    if (std::ranges::find(kOwn, std::string_view(entry.key())) == std::end(kOwn))
      annotations[entry.key()] = entry.value();
  }
}

void SetReplicasAnnotations(json::object& annotations, const Rollout& rollout) {
  annotations[kDesiredReplicas] = fmt::to_string(rollout.replicas);
  annotations[kMaxReplicas] = fmt::to_string(rollout.replicas + rollout.max_surge);
}

}  // namespace

ApiResult<> DeploymentController::CreateCurrent(State& state, std::int64_t revision) {
  const json::object bare = WithoutHash(ObjectOrEmpty(state.spec(), "template"));
  const std::string hash = TemplateHash(bare, IntAt(state.status, "collisionCount", -1));
  Totals all = Sum(state.old);
  const std::int64_t size = NewSetSize(state.rollout, all, 0);
  Document set;
  json::object& root = set.root();
  json::object& spec = ObjectAt(root, "spec");
  spec["replicas"] = size;
  if (state.rollout.min_ready > 0) spec["minReadySeconds"] = state.rollout.min_ready;
  spec["selector"] = ObjectOrEmpty(state.spec(), "selector");
  ObjectAt(ObjectAt(spec, "selector"), "matchLabels")[kPodTemplateHash] = hash;
  spec["template"] = ObjectOrEmpty(state.spec(), "template");
  json::object& labels = ObjectAt(ObjectAt(ObjectAt(spec, "template"), "metadata"), "labels");
  labels[kPodTemplateHash] = hash;
  json::object& metadata = ObjectAt(root, "metadata");
  metadata["name"] = fmt::format("{}-{}", state.object->name.substr(0, 242), hash);
  metadata["labels"] = labels;
  json::object& annotations = ObjectAt(metadata, "annotations");
  CopyAnnotations(state.document.root(), annotations);
  annotations[kRevision] = fmt::to_string(revision);
  SetReplicasAnnotations(annotations, state.rollout);
  metadata["ownerReferences"] = json::array{ControllerRef(*state.object)};
  auto created = context_.verbs.Create(Kinds().replica_sets, state.object->ns, std::move(set));
  const std::string now = context_.NowText();
  if (!created) {
    if (created.error().code == 409) {  // two templates with the same hash: change the collision count
      state.status["collisionCount"] = IntAt(state.status, "collisionCount") + 1;
    } else if (created.error().code != 403) {
      const std::string message = fmt::format("Failed to create new replica set \"{}-{}\": {}",
                                              state.object->name, hash, created.error().message);
      if (state.rollout.has_deadline())
        SetCondition(state.status, {"Progressing", "False", "ReplicaSetCreateError", message}, now, true);
      Emit(*state.object, "Warning", "ReplicaSetCreateError", message);
    }
    WriteStatus(*state.object, state.status);
    return std::unexpected(created.error());
  }
  state.current = ReplicaSetFacts::Of(*created);
  if (size > 0) {
    Emit(*state.object, "Normal", "ScalingReplicaSet",
         fmt::format("Scaled up replica set {} from 0 to {}", (*created)->name, size));
  }
  ShowRevision(state, revision);
  if (state.rollout.has_deadline()) {
    SetCondition(state.status,
                 {"Progressing", "True", "NewReplicaSetCreated",
                  fmt::format("Created new replica set \"{}\"", (*created)->name)},
                 now, true);
  }
  return {};
}

// The set of the current template has the highest revision; its earlier revisions are kept in its history.
void DeploymentController::UpdateCurrent(State& state, std::int64_t revision) {
  ReplicaSetFacts& set = *state.current;
  const auto change = [&](json::object& document) -> ApiResult<> {
    json::object& annotations = ObjectAt(ObjectAt(document, "metadata"), "annotations");
    CopyAnnotations(state.document.root(), annotations);
    if (set.revision < revision) {
      if (set.revision > 0) {
        std::string before;
        if (const json::value* value = Find(annotations, kRevisionHistory);
            value != nullptr && value->is_string())
          before = value->get_string();
        annotations[kRevisionHistory] =
            before.empty() ? fmt::to_string(set.revision) : fmt::format("{},{}", before, set.revision);
      }
      annotations[kRevision] = fmt::to_string(revision);
    }
    if (IntAt(document, "spec.minReadySeconds") != state.rollout.min_ready)
      ObjectAt(document, "spec")["minReadySeconds"] = state.rollout.min_ready;
    return {};
  };
  if (auto written = context_.verbs.Edit(PlaceOf(*set.object), Part::kMain, change))
    set = ReplicaSetFacts::Of(*written);
  ShowRevision(state, set.revision);
  if (state.rollout.has_deadline() && FindCondition(state.status, "Progressing") == nullptr) {
    SetCondition(state.status,
                 {"Progressing", "True", "FoundNewReplicaSet",
                  fmt::format("Found new replica set \"{}\"", set.object->name)},
                 context_.NowText(), true);
  }
}

void DeploymentController::ShowRevision(State& state, std::int64_t revision) {
  const std::string text = fmt::to_string(revision);
  const json::value* shown = Find(ObjectOrEmpty(state.document.root(), "metadata.annotations"), kRevision);
  if (shown != nullptr && *shown == json::value(text)) return;
  const ObjectPtr written =
      context_.verbs.Rewrite(PlaceOf(*state.object), state.object->uid, [&](json::object& document) {
        ObjectAt(ObjectAt(document, "metadata"), "annotations")[kRevision] = text;
      });
  if (written) state.object = written;
}

bool DeploymentController::Resize(State& state, ReplicaSetFacts& set, std::int64_t size) {
  const std::int64_t before = set.wanted;
  const std::int64_t max = state.rollout.replicas + state.rollout.max_surge;
  if (before == size && set.desired_annotation == state.rollout.replicas && set.max_annotation == max)
    return false;
  const auto change = [&](json::object& document) -> ApiResult<> {
    ObjectAt(document, "spec")["replicas"] = size;
    SetReplicasAnnotations(ObjectAt(ObjectAt(document, "metadata"), "annotations"), state.rollout);
    return {};
  };
  const auto written = context_.verbs.Edit(PlaceOf(*set.object), Part::kMain, change);
  if (!written) return false;
  set = ReplicaSetFacts::Of(*written);
  if (before == size) return false;
  Emit(*state.object, "Normal", "ScalingReplicaSet",
       fmt::format("Scaled {} replica set {} from {} to {}", before < size ? "up" : "down", set.object->name,
                   before, size));
  return true;
}

}  // namespace berth::sandbox
