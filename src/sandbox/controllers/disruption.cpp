#include "sandbox/controllers/disruption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sandbox/store/time_after.hpp"

namespace berth::sandbox {
namespace {

constexpr std::chrono::minutes kDeletionTimeout{2};

// "daemonsets.apps"; a kind that is unknown here remains as it is.
std::string ResourceOf(const std::string& kind) {
  const auto type = std::ranges::find(Resources(), kind, &ResourceType::kind);
  return type == Resources().end() ? kind : std::string(type->qualified_plural());
}

// A selector as Go prints a *metav1.LabelSelector with %v; null prints as "nil".
std::string PrintedSelector(const json::object* selector) {
  if (selector == nullptr) return "nil";
  std::map<std::string_view, std::string_view> labels;
  for (const auto& entry : ObjectOrEmpty(*selector, "matchLabels")) {
    if (entry.value().is_string()) labels[entry.key()] = entry.value().get_string();
  }
  std::string text = "&LabelSelector{MatchLabels:map[string]string{";
  for (const auto& [key, value] : labels) text += fmt::format("{}: {},", key, value);
  text += "},MatchExpressions:[]LabelSelectorRequirement{";
  for (const auto& expression : ArrayOrEmpty(*selector, "matchExpressions")) {
    if (!expression.is_object()) continue;
    const json::object& requirement = expression.get_object();
    std::string values;
    for (const auto& value : ArrayOrEmpty(requirement, "values")) {
      if (!value.is_string()) continue;
      if (!values.empty()) values += ' ';
      values += std::string_view(value.get_string());
    }
    text += fmt::format("LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                        FindString(requirement, "key"), FindString(requirement, "operator"), values);
  }
  return text + "},}";
}

}  // namespace

DisruptionController::DisruptionController(ControllerContext& context)
    : Controller(context, Known().disruption_budgets, "controllermanager") {
  EnqueueAll();
}

// Scaling a controller changes the expected number of pods.
void DisruptionController::OnChange(const ResourceType& type, const Change& change) {
  Controller::OnChange(type, change);
  const auto& k = Kinds();
  if (&type != &k.deployments && &type != &k.replica_sets && &type != &k.stateful_sets) return;
  if (context_.store().All(type_).empty()) return;
  const std::string prefix = change.subject().ns + "/";
  const auto& budgets = context_.store().All(type_);
  for (auto it = budgets.lower_bound(prefix); it != budgets.end() && it->first.starts_with(prefix); ++it) {
    queue_.Add(it->first);
  }
}

void DisruptionController::OnPod(const PodFacts* before, const PodFacts* after) {
  for (const PodFacts* pod : {before, after}) {
    if (pod == nullptr) continue;
    EnqueueMatching(*pod->object);
  }
}

Controller::Outcome DisruptionController::Reconcile(const ObjectPtr& object) {
  const Document document = object->Parse();
  const json::object& root = document.root();
  const json::object& spec = ObjectOrEmpty(root, "spec");
  std::vector<const PodFacts*> pods;
  std::size_t objects_read = 0;
  if (const LabelSelector* selector = SelectorOf(*object)) {
    context_.view.ForEachIn(object->ns, [&](const PodFacts& pod) {
      ++objects_read;
      if (selector->Matches(*pod.object)) pods.push_back(&pod);
    });
  }
  if (pods.empty()) Emit(*object, "Normal", "NoPods", "No matching pods found");
  const Expectation expected = Expect(spec, pods);
  if (expected.unmanaged) {
    Emit(*object, "Warning", "UnmanagedPods",
         fmt::format(
             "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As "
             "a result, the status of the PDB cannot be calculated correctly, which may result in "
             "undefined behavior. To account for these pods please set \".spec.minAvailable\" field of "
             "the PDB to an integer value.",
             PrintedSelector(FindObject(spec, "selector"))));
  }
  json::object status = ObjectOrEmpty(root, "status");
  Duration again{};
  json::object disrupted = Disrupted(status, object->ns, again);
  const auto healthy = std::ranges::count_if(pods, [&](const PodFacts* pod) {
    return pod->ready && !pod->object->deleting && !disrupted.contains(pod->object->name);
  });
  const std::int64_t allowed = expected.pods > 0 && expected.problem.empty()
                                   ? std::max<std::int64_t>(healthy - expected.healthy, 0)
                                   : 0;
  status["currentHealthy"] = healthy;
  status["desiredHealthy"] = expected.healthy;
  status["expectedPods"] = expected.pods;
  status["disruptionsAllowed"] = allowed;
  if (disrupted.empty())
    status.erase("disruptedPods");
  else
    status["disruptedPods"] = std::move(disrupted);
  const std::int64_t generation = IntAt(root, "metadata.generation", 1);
  status["observedGeneration"] = generation;
  Condition condition{"DisruptionAllowed", "False", "InsufficientPods"};
  if (!expected.problem.empty())
    condition = {"DisruptionAllowed", "False", "SyncFailed", expected.problem};
  else if (allowed > 0)
    condition = {"DisruptionAllowed", "True", "SufficientPods"};
  if (SetCondition(status, condition, context_.NowText())) {
    json::object& stored = ArrayAt(status, "conditions").back().get_object();
    stored["observedGeneration"] = generation;
    if (!stored.contains("message")) stored["message"] = "";
  }
  if (!expected.problem.empty())
    Emit(*object, "Warning", "CalculateExpectedPodCountFailed",
         "Failed to calculate the number of expected pods: " + expected.problem);
  WriteStatus(*object, status);
  return {.objects_read = objects_read, .again_after = again};
}

DisruptionController::Expectation DisruptionController::Expect(
    const json::object& spec, const std::vector<const PodFacts*>& pods) const {
  const json::value* min_available = Find(spec, "minAvailable");
  const json::value* max_unavailable = Find(spec, "maxUnavailable");
  Expectation expected;
  expected.pods = static_cast<std::int64_t>(pods.size());
  const bool counts_pods = min_available != nullptr && min_available->is_int64();
  if (counts_pods) {
    expected.healthy = min_available->get_int64();
    return expected;
  }
  std::vector<const PodFacts*> managed = pods;
  std::erase_if(managed, [](const PodFacts* pod) { return pod->owner_uid.empty(); });
  const auto wanted = Wanted(managed, expected.problem);
  if (!wanted) return expected;
  expected.unmanaged = managed.size() < pods.size();
  expected.pods = *wanted;
  if (max_unavailable != nullptr)
    expected.healthy = std::max<std::int64_t>(*wanted - ScaledValue(max_unavailable, *wanted, true), 0);
  else
    expected.healthy = ScaledValue(min_available, *wanted, true);
  return expected;
}

std::optional<std::int64_t> DisruptionController::Wanted(const std::vector<const PodFacts*>& pods,
                                                         std::string& problem) const {
  std::set<std::string> seen;
  std::int64_t sum = 0;
  for (const PodFacts* pod : pods) {
    if (!seen.insert(pod->owner_uid).second) continue;
    const auto& k = Kinds();
    const ResourceType* type = pod->owner_kind == "ReplicaSet"    ? &k.replica_sets
                               : pod->owner_kind == "StatefulSet" ? &k.stateful_sets
                                                                  : nullptr;
    if (type == nullptr) {
      problem = fmt::format("{} does not implement the scale subresource", ResourceOf(pod->owner_kind));
      return std::nullopt;
    }
    ObjectPtr owner = context_.store().Get(*type, ObjectKey(pod->object->ns, pod->owner_name));
    if (!owner) continue;
    // A deployment counts once for all of its replica sets.
    Document document = owner->Parse();
    if (const json::object* above = ControllerOf(document.root())) {
      const std::string uid(FindString(*above, "uid"));
      const ObjectPtr deployment =
          context_.store().Get(k.deployments, ObjectKey(pod->object->ns, FindString(*above, "name")));
      if (deployment && deployment->uid == uid) {
        if (!seen.insert(uid).second) continue;
        document = deployment->Parse();
      }
    }
    sum += IntAt(document.root(), "spec.replicas", 1);
  }
  return sum;
}

json::object DisruptionController::Disrupted(const json::object& status, const std::string& ns,
                                             Duration& again) const {
  json::object kept;
  for (const auto& entry : ObjectOrEmpty(status, "disruptedPods")) {
    const PodFacts* pod = context_.view.Pod(ObjectKey(ns, entry.key()));
    if (pod == nullptr || pod->object->deleting || !entry.value().is_string()) continue;
    const auto since = TimeOf(entry.value().get_string());
    if (!since) continue;
    const Duration left = TimeAfter(*since, kDeletionTimeout) - context_.Now();
    if (left < Duration::zero()) continue;
    const Duration wait = left + std::chrono::seconds(1);
    if (again == Duration::zero() || wait < again) again = wait;
    kept[entry.key()] = entry.value();
  }
  return kept;
}

}  // namespace berth::sandbox
