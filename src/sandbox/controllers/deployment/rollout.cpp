// Moves replicas between replica sets.
#include <fmt/format.h>

#include <algorithm>

#include "sandbox/controllers/deployment/deployment.hpp"
#include "sandbox/store/time_after.hpp"

namespace berth::sandbox {
namespace {

bool Complete(const json::object& status, std::int64_t replicas, std::int64_t generation) {
  return IntAt(status, "updatedReplicas") == replicas && IntAt(status, "replicas") == replicas &&
         IntAt(status, "availableReplicas") == replicas && IntAt(status, "observedGeneration") >= generation;
}

}  // namespace

// A single active set takes the whole change; several share it.
void DeploymentController::Scale(State& state) {
  std::vector<ReplicaSetFacts*> active;
  for (auto& set : state.old) {
    if (set.wanted > 0) active.push_back(&set);
  }
  if (state.current && state.current->wanted > 0) active.push_back(&*state.current);
  if (active.size() <= 1) {
    ReplicaSetFacts* only = !active.empty()      ? active[0]
                            : state.current      ? &*state.current
                            : !state.old.empty() ? &state.old.back()
                                                 : nullptr;
    if (only != nullptr && only->wanted != state.rollout.replicas) {
      Resize(state, *only, state.rollout.replicas);
    } else if (only != nullptr) {
      Resize(state, *only, only->wanted);  // updates the annotations
    }
    return;
  }
  const bool saturated = state.current && state.current->wanted == state.rollout.replicas &&
                         state.current->desired_annotation == state.rollout.replicas &&
                         state.current->available == state.rollout.replicas;
  if (saturated || state.rollout.recreate) {
    for (auto& set : state.old) {
      if (set.wanted > 0 && saturated) Resize(state, set, 0);
    }
    return;
  }
  ReplicaSets copies;
  for (const auto* set : active) copies.push_back(*set);
  const auto sizes = Proportions(state.rollout, copies);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto same = std::ranges::find_if(
        active, [&](const auto* set) { return set->object->uid == copies[i].object->uid; });
    Resize(state, **same, sizes[i]);
  }
}

void DeploymentController::Roll(State& state) {
  if (GrowCurrent(state) || ShrinkOld(state)) return;
  const std::int64_t generation = IntAt(state.document.root(), "metadata.generation", 1);
  if (Complete(state.status, state.rollout.replicas, generation)) CleanUp(state);
}

bool DeploymentController::GrowCurrent(State& state) {
  ReplicaSetFacts& current = *state.current;
  if (current.wanted == state.rollout.replicas) return false;
  if (current.wanted > state.rollout.replicas) return Resize(state, current, state.rollout.replicas);
  const std::int64_t size = NewSetSize(state.rollout, Sum(state.all()), current.wanted);
  return size != current.wanted && Resize(state, current, size);
}

// First unavailable pods, then as many others as the availability allows.
bool DeploymentController::ShrinkOld(State& state) {
  if (Sum(state.old).wanted == 0) return false;
  const std::int64_t min_available = state.rollout.replicas - state.rollout.max_unavailable;
  const std::int64_t new_unavailable = state.current->wanted - state.current->available;
  std::int64_t room = Sum(state.all()).wanted - min_available - new_unavailable;
  if (room <= 0) return false;
  bool shrunk = false;
  for (auto& set : state.old) {
    const std::int64_t unhealthy = std::min(room, set.wanted - set.available);
    if (set.wanted == 0 || unhealthy <= 0) continue;
    shrunk |= Resize(state, set, set.wanted - unhealthy);
    room -= unhealthy;
  }
  std::int64_t spare = Sum(state.all()).available - min_available;
  for (auto& set : state.old) {
    const std::int64_t down = std::min(set.wanted, spare);
    if (down <= 0) continue;
    shrunk |= Resize(state, set, set.wanted - down);
    spare -= down;
  }
  return shrunk;
}

// Deletes all old pods before it creates new ones.
void DeploymentController::Recreate(State& state) {
  bool shrunk = false;
  for (auto& set : state.old) {
    if (set.wanted > 0) shrunk |= Resize(state, set, 0);
  }
  if (shrunk) return;
  for (const auto& set : state.old) {
    for (const PodFacts* pod : context_.view.PodsOf(set.object->uid)) {
      if (!pod->terminal()) return;
    }
  }
  if (!state.current && !FindCurrent(state, true)) return;
  if (state.current->wanted != state.rollout.replicas) {
    Resize(state, *state.current, state.rollout.replicas);
    return;
  }
  const std::int64_t generation = IntAt(state.document.root(), "metadata.generation", 1);
  if (Complete(state.status, state.rollout.replicas, generation)) CleanUp(state);
}

// Deletes old sets beyond the history limit, the lowest revisions first.
void DeploymentController::CleanUp(State& state) {
  ReplicaSets alive;
  std::ranges::copy_if(state.old, std::back_inserter(alive),
                       [](const auto& s) { return !s.object->deleting; });
  const auto surplus = static_cast<std::int64_t>(alive.size()) - state.rollout.history_limit;
  std::ranges::sort(alive, {}, &ReplicaSetFacts::revision);
  for (std::int64_t i = 0; i < surplus; ++i) {
    const auto& set = alive[static_cast<std::size_t>(i)];
    if (set.replicas != 0 || set.wanted != 0 || !set.observed) continue;
    DeleteOptions options;
    options.propagation = "Background";
    (void)context_.verbs.Delete(PlaceOf(*set.object), options);  // the set may already be gone
  }
}

// --- status ---

namespace {

// Conditions of deployments are equal if status and reason are equal.
void SetIfNew(json::object& status, const Condition& condition, const std::string& now) {
  const json::object* old = FindCondition(status, condition.type);
  if (old != nullptr && FindString(*old, "status") == condition.status &&
      FindString(*old, "reason") == condition.reason) {
    return;
  }
  SetCondition(status, condition, now, true);
}

void SetCount(json::object& status, std::string_view key, std::int64_t count) {
  if (count != 0)
    status[key] = count;
  else
    status.erase(key);
}

}  // namespace

void DeploymentController::Summarize(State& state) const {
  const Totals all = Sum(state.all());
  json::object& status = state.status;
  status["observedGeneration"] = IntAt(state.document.root(), "metadata.generation", 1);
  SetCount(status, "replicas", all.replicas);
  SetCount(status, "updatedReplicas", state.current ? state.current->replicas : 0);
  SetCount(status, "readyReplicas", all.ready);
  SetCount(status, "availableReplicas", all.available);
  SetCount(status, "unavailableReplicas", std::max<std::int64_t>(all.wanted - all.available, 0));
  status["terminatingReplicas"] = all.terminating;
  if (all.available >= state.rollout.replicas - state.rollout.max_unavailable) {
    SetIfNew(status,
             {"Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."},
             context_.NowText());
  } else {
    SetIfNew(status,
             {"Available", "False", "MinimumReplicasUnavailable",
              "Deployment does not have minimum availability."},
             context_.NowText());
  }
}

// Updates the condition Progressing. Returns when to check the progress deadline again.
Duration DeploymentController::CheckProgress(State& state) const {
  json::object& status = state.status;
  const json::object& before = ObjectOrEmpty(state.document.root(), "status");
  const std::string now = context_.NowText();
  const json::object* failure = nullptr;
  Document failed;
  for (const auto& set : state.all()) {
    failed = set.object->Parse();
    failure = FindCondition(ObjectOrEmpty(failed.root(), "status"), "ReplicaFailure");
    if (failure != nullptr) break;
  }
  if (failure != nullptr) {
    SetIfNew(status,
             {"ReplicaFailure", "True", FindString(*failure, "reason"), FindString(*failure, "message")},
             now);
  } else {
    RemoveCondition(status, "ReplicaFailure");
  }
  if (!state.rollout.has_deadline()) {
    RemoveCondition(status, "Progressing");
    return {};
  }
  if (state.rollout.paused || state.object->deleting) return {};
  const json::object* progress = FindCondition(status, "Progressing");
  const std::string reason(progress != nullptr ? FindString(*progress, "reason") : std::string_view());
  const bool settled =
      IntAt(status, "replicas") == IntAt(status, "updatedReplicas") && reason == "NewReplicaSetAvailable";
  if (settled) return {};
  const std::string about = state.current ? fmt::format("ReplicaSet \"{}\"", state.current->object->name)
                                          : fmt::format("Deployment \"{}\"", state.object->name);
  const std::int64_t generation = IntAt(state.document.root(), "metadata.generation", 1);
  const auto grew = [&](std::string_view key) { return IntAt(status, key) > IntAt(before, key); };
  const auto old_replicas = [](const json::object& s) {
    return IntAt(s, "replicas") - IntAt(s, "updatedReplicas");
  };
  if (Complete(status, state.rollout.replicas, generation)) {
    SetIfNew(status,
             {"Progressing", "True", "NewReplicaSetAvailable", about + " has successfully progressed."}, now);
    return {};
  }
  if (grew("updatedReplicas") || grew("readyReplicas") || grew("availableReplicas") ||
      old_replicas(status) < old_replicas(before)) {
    const std::string since(progress != nullptr && FindString(*progress, "status") == "True"
                                ? FindString(*progress, "lastTransitionTime")
                                : now);
    RemoveCondition(status, "Progressing");
    SetCondition(status, {"Progressing", "True", "ReplicaSetUpdated", about + " is progressing."}, now, true);
    ArrayAt(status, "conditions").back().get_object()["lastTransitionTime"] = since;
    return std::chrono::seconds(state.rollout.progress_deadline + 1);
  }
  if (progress == nullptr || reason == "NewReplicaSetAvailable" || reason == "ProgressDeadlineExceeded")
    return {};
  const WallTime updated = TimeOf(FindString(*progress, "lastUpdateTime")).value_or(context_.Now());
  const WallTime due = TimeAfter(updated, state.rollout.progress_deadline);
  if (due >= context_.Now()) return due - context_.Now() + std::chrono::seconds(1);
  SetIfNew(status,
           {"Progressing", "False", "ProgressDeadlineExceeded", about + " has timed out progressing."}, now);
  return {};
}

}  // namespace berth::sandbox
