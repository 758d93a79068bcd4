#include "sandbox/controllers/replica_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace berth::sandbox {
namespace {

constexpr std::int64_t kPodBurst = 500;  // pods created or deleted in one reconcile
constexpr std::chrono::milliseconds kNextBurst{10};

int PhaseRank(const PodFacts& pod) { return pod.phase() == "Pending" ? 0 : pod.phase() == "Unknown" ? 1 : 2; }

// Ages are compared by order of magnitude, so that pods of about the same age are equal.
int AgeClass(WallTime since, WallTime now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - since).count();
  return seconds <= 0 ? 0 : std::bit_width(static_cast<std::uint64_t>(seconds));
}

}  // namespace

std::vector<const PodFacts*> PodsToDelete(std::vector<const PodFacts*> pods,
                                          const std::vector<const PodFacts*>& related, std::size_t surplus,
                                          WallTime now) {
  if (surplus >= pods.size()) return pods;
  std::unordered_map<std::string_view, int> related_on_node;
  for (const PodFacts* pod : related) {
    if (pod->active() && !pod->node().empty()) ++related_on_node[pod->node()];
  }
  const auto delete_first = [&](const PodFacts* a, const PodFacts* b) {
    if (a->node().empty() != b->node().empty()) return a->node().empty();
    if (PhaseRank(*a) != PhaseRank(*b)) return PhaseRank(*a) < PhaseRank(*b);
    if (a->ready != b->ready) return b->ready;
    if (a->deletion_cost != b->deletion_cost) return a->deletion_cost < b->deletion_cost;
    const auto at = [&](const PodFacts* pod) {
      const auto found = related_on_node.find(pod->node());
      return found == related_on_node.end() ? 0 : found->second;
    };
    if (at(a) != at(b)) return at(a) > at(b);
    if (a->ready && b->ready && a->ready_since != b->ready_since) {
      const int age_a = AgeClass(a->ready_since, now), age_b = AgeClass(b->ready_since, now);
      if (age_a != age_b) return age_a < age_b;
    }
    if (a->restarts != b->restarts) return a->restarts > b->restarts;
    const int age_a = AgeClass(a->created, now), age_b = AgeClass(b->created, now);
    if (age_a != age_b) return age_a < age_b;
    return a->object->uid < b->object->uid;
  };
  std::ranges::nth_element(pods, pods.begin() + static_cast<std::ptrdiff_t>(surplus), delete_first);
  pods.resize(surplus);
  return pods;
}

ReplicaSetController::ReplicaSetController(ControllerContext& context)
    : Controller(context, Kinds().replica_sets, "replicaset-controller") {
  EnqueueAll();
}

Controller::Outcome ReplicaSetController::Reconcile(const ObjectPtr& object) {
  const Document document = object->Parse();
  const LabelSelector* selector = SelectorOf(*object);
  if (selector == nullptr || selector->empty()) return {};
  const LabelSelector copy = *selector;  // a copy: claiming writes
  std::vector<const PodFacts*> pods = ClaimPods(*object, copy);
  std::vector<const PodFacts*> active;
  std::ranges::copy_if(pods, std::back_inserter(active), &PodFacts::active);
  const json::object& spec = ObjectOrEmpty(document.root(), "spec");
  const std::int64_t missing = IntAt(spec, "replicas", 1) - static_cast<std::int64_t>(active.size());
  Outcome outcome{.objects_read = pods.size()};
  std::string failure;
  if (!object->deleting && missing != 0) {
    failure = Manage(*object, spec, active, missing);
    outcome.failed = !failure.empty();
    // Unscheduled pods are cheap to create: the next burst does not wait in proportion to all pods.
    if (std::abs(missing) > kPodBurst && !outcome.failed) outcome = {.again_after = kNextBurst};
    pods = context_.view.PodsOf(object->uid);
  }
  Duration wait{};
  if (WriteStatus(*object, StatusOf(document.root(), pods, failure, missing, &wait)) == nullptr) return {};
  if (wait > Duration::zero() && outcome.again_after == Duration::zero()) outcome.again_after = wait;
  return outcome;
}

std::string ReplicaSetController::Manage(const Object& set, const json::object& spec,
                                         const std::vector<const PodFacts*>& pods, std::int64_t missing) {
  if (missing > 0) {
    const json::object& pod_template = ObjectOrEmpty(spec, "template");
    for (std::int64_t i = 0; i < std::min(missing, kPodBurst); ++i) {
      if (auto created = CreatePod(set, {pod_template}); !created) return created.error().message;
    }
    return {};
  }
  // Pods per node are counted over all sets of the same owner.
  std::vector<const PodFacts*> related = pods;
  const Document document = set.Parse();
  if (const json::object* owner = ControllerOf(document.root())) {
    for (const auto& sibling : context_.view.DependentsOf(std::string(FindString(*owner, "uid")), type_)) {
      if (sibling->uid != set.uid) {
        const auto more = context_.view.PodsOf(sibling->uid);
        related.insert(related.end(), more.begin(), more.end());
      }
    }
  }
  const auto surplus = static_cast<std::size_t>(std::min(-missing, kPodBurst));
  std::vector<ObjectPtr> to_delete;
  for (const PodFacts* pod : PodsToDelete(pods, related, surplus, context_.Now()))
    to_delete.push_back(pod->object);
  for (const auto& pod : to_delete) DeletePod(set, *pod);
  return {};
}

json::object ReplicaSetController::StatusOf(const json::object& document,
                                            const std::vector<const PodFacts*>& pods,
                                            const std::string& failure, std::int64_t missing,
                                            Duration* wait) const {
  std::int64_t active = 0, labeled = 0, ready = 0, available = 0, terminating = 0;
  const std::int64_t min_ready = IntAt(document, "spec.minReadySeconds");
  const json::object& labels = ObjectOrEmpty(document, "spec.template.metadata.labels");
  for (const PodFacts* pod : pods) {
    terminating += pod->object->deleting && !pod->terminal() ? 1 : 0;
    if (!pod->active()) continue;
    ++active;
    labeled += std::ranges::all_of(labels, [&](const auto& label) {
      const std::string* has = pod->object->Label(label.key());
      return has != nullptr && label.value().is_string() && *has == label.value().get_string();
    });
    ready += pod->ready ? 1 : 0;
    available += pod->Available(min_ready, context_.Now(), wait) ? 1 : 0;
  }
  json::object status = ObjectOrEmpty(document, "status");
  status["replicas"] = active;
  const auto set_count = [&](std::string_view key, std::int64_t count) {
    if (count > 0)
      status[key] = count;
    else
      status.erase(key);
  };
  set_count("fullyLabeledReplicas", labeled);
  set_count("readyReplicas", ready);
  set_count("availableReplicas", available);
  status["terminatingReplicas"] = terminating;
  status["observedGeneration"] = IntAt(document, "metadata.generation", 1);
  if (failure.empty()) {
    RemoveCondition(status, "ReplicaFailure");
  } else if (FindCondition(status, "ReplicaFailure") == nullptr) {
    const std::string_view reason = missing > 0 ? "FailedCreate" : "FailedDelete";
    SetCondition(status, {"ReplicaFailure", "True", reason, failure}, context_.NowText());
  }
  if (FindCondition(status, "ReplicaFailure") == nullptr && ArrayOrEmpty(status, "conditions").empty())
    status.erase("conditions");
  return status;
}

}  // namespace berth::sandbox
