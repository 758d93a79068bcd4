#include <fmt/format.h>

#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/store/condition.hpp"
#include "sandbox/store/selector.hpp"

namespace berth::sandbox {
namespace {

// A validation error that kube-apiserver does not wrap: HTTP 500 without a reason, also in v1.37.
std::unexpected<ApiError> Plain500(std::string message) {
  ApiError error;
  error.message = std::move(message);
  return std::unexpected(std::move(error));
}

ApiResult<> CheckBinding(const Place& place, const json::object& binding) {
  const auto name = FindString(binding, "metadata.name");
  const auto ns = FindString(binding, "metadata.namespace");
  if (!name.empty() && name != place.name)
    return BadRequest("name in URL does not match name in Binding object");
  if (!ns.empty() && ns != place.ns) {
    return BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  const auto kind = FindString(binding, "target.kind");
  if (!kind.empty() && kind != "Node") {
    return Plain500(
        fmt::format("target.kind: Unsupported value: \"{}\": supported values: \"Node\", \"<empty>\"", kind));
  }
  if (FindString(binding, "target.name").empty()) return Plain500("target.name: Required value");
  return {};
}

ApiResult<> CheckIdentity(const Object& pod, const json::object& binding) {
  const auto uid = FindString(binding, "metadata.uid");
  const auto version = FindString(binding, "metadata.resourceVersion");
  std::string failed;
  if (!uid.empty() && uid != pod.uid) {
    failed = fmt::format("UID in precondition: {}, UID in object meta: {}", uid, pod.uid);
  } else if (!version.empty() && version != fmt::to_string(pod.version)) {
    failed = fmt::format("ResourceVersion in precondition: {}, ResourceVersion in object meta: {}", version,
                         pod.version);
  }
  if (failed.empty()) return {};
  return Conflict(
      *pod.type, pod.name,
      fmt::format("StorageError: invalid object, Code: 4, Key: /registry/pods/{}, ResourceVersion: 0, "
                  "AdditionalErrorMsg: Precondition failed: {}",
                  pod.key, failed));
}

ApiResult<> CheckBindable(const Object& pod, const json::object& document) {
  std::string why;
  const auto node = FindString(document, "spec.nodeName");
  const json::array* gates = FindArray(document, "spec.schedulingGates");
  if (!FindString(document, "metadata.deletionTimestamp").empty()) {
    why = fmt::format("pod {} is being deleted, cannot be assigned to a host", pod.name);
  } else if (!node.empty()) {
    why = fmt::format("pod {} is already assigned to node \"{}\"", pod.name, node);
  } else if (gates != nullptr && !gates->empty()) {
    why = fmt::format("pod {} has non-empty .spec.schedulingGates", pod.name);
  }
  if (why.empty()) return {};
  return Conflict(*pod.type, pod.name, why, "pods/binding");
}

void MergeStrings(json::object& metadata, std::string_view key, const json::object* from) {
  if (from == nullptr || from->empty()) return;
  json::object& to = ObjectAt(metadata, key);
  for (const auto& entry : *from) {
    if (entry.value().is_string()) to[entry.key()] = entry.value();
  }
}

// Admission PodTopologyLabels: copies the node's topology labels to the pod.
void CopyTopology(const Object& node, json::object& metadata) {
  for (const std::string_view key : {"topology.kubernetes.io/zone", "topology.kubernetes.io/region"}) {
    if (const std::string* value = node.Label(key)) ObjectAt(metadata, "labels")[key] = *value;
  }
}

void SetScheduled(json::object& status, WallTime now) {
  json::object* condition = nullptr;
  for (auto& element : ArrayAt(status, "conditions")) {
    if (element.is_object() && FindString(element.get_object(), "type") == "PodScheduled") {
      condition = &element.get_object();
    }
  }
  if (condition == nullptr)
    condition = &ArrayAt(status, "conditions").emplace_back(json::object()).get_object();
  *condition =
      json::object{{"type", "PodScheduled"}, {"status", "True"}, {"lastTransitionTime", FormatTime(now)}};
  status.erase("nominatedNodeName");
}

}  // namespace

ApiResult<> Verbs::Bind(const Place& place, const json::object& binding, DryRun dry_run) {
  BERTH_RETURN_IF_ERROR(CheckBinding(place, binding));
  const ObjectPtr pod = store_.Get(place.type, place.key());
  if (!pod) return NotFound(place.type, place.name);
  BERTH_RETURN_IF_ERROR(CheckIdentity(*pod, binding));
  Document document = pod->Parse();
  BERTH_RETURN_IF_ERROR(CheckBindable(*pod, document.root()));
  const auto node_name = FindString(binding, "target.name");
  json::object& metadata = ObjectAt(document.root(), "metadata");
  MergeStrings(metadata, "labels", FindObject(binding, "metadata.labels"));
  MergeStrings(metadata, "annotations", FindObject(binding, "metadata.annotations"));
  // kube-apiserver does not check that the node exists, either.
  const ObjectPtr node = store_.Get(Known().nodes, node_name);
  if (node && FindString(binding, "target.kind") == "Node") CopyTopology(*node, metadata);
  ObjectAt(document.root(), "spec")["nodeName"] = node_name;
  SetScheduled(ObjectAt(document.root(), "status"), clock_.WallNow());
  Commit(place.type, document.root(), dry_run);
  return {};
}

// --- eviction ---

namespace {

std::int64_t Integer(const json::object& object, std::string_view path) {
  const json::value* value = FindPath(object, path);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

std::unexpected<ApiError> WouldViolate(const Object& budget, const json::object& document) {
  ApiError error;
  error.code = 429;
  error.reason = "TooManyRequests";
  error.message = "Cannot evict pod as it would violate the pod's disruption budget.";
  error.has_details = true;
  error.causes.push_back(
      {"DisruptionBudget",
       fmt::format("The disruption budget {} needs {} healthy pods and has {} currently", budget.name,
                   Integer(document, "status.desiredHealthy"), Integer(document, "status.currentHealthy")),
       ""});
  return std::unexpected(std::move(error));
}

// The controller has not processed the budget since its last change.
std::unexpected<ApiError> NotYetObserved(const Object& budget) {
  ApiError error;
  error.code = 429;
  error.reason = "TooManyRequests";
  error.message = "Cannot evict pod as it would violate the pod's disruption budget.";
  error.has_details = true;
  error.causes.push_back(
      {"DisruptionBudget",
       fmt::format("The disruption budget {} is still being processed by the server.", budget.name), ""});
  error.retry_after_seconds = 10;
  return std::unexpected(std::move(error));
}

// In status.conditions: replaces the one of the same type, whose lastTransitionTime it keeps if the status is
// the same.
void PutCondition(json::object& object, json::object condition) {
  json::array& conditions = ArrayAt(ObjectAt(object, "status"), "conditions");
  for (auto& element : conditions) {
    if (!element.is_object() || FindString(element.get_object(), "type") != FindString(condition, "type"))
      continue;
    const json::value* time = Find(element.get_object(), "lastTransitionTime");
    if (time != nullptr && FindString(element.get_object(), "status") == FindString(condition, "status"))
      condition["lastTransitionTime"] = *time;
    element = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
}

bool IsReady(const json::object& pod) {
  const json::object* status = FindObject(pod, "status");
  return status != nullptr && IsConditionTrue(*status, "Ready");
}

// True if a pod that is not Ready may be evicted without a change of the budget: it is not one of the healthy
// pods that the budget counts.
bool AllowsUnhealthy(const json::object& budget) {
  if (FindString(budget, "spec.unhealthyPodEvictionPolicy") == "AlwaysAllow") return true;
  const std::int64_t desired = Integer(budget, "status.desiredHealthy");
  return desired > 0 && Integer(budget, "status.currentHealthy") >= desired;
}

void SetDisruptionAllowed(json::object& budget, bool allowed, WallTime now) {
  PutCondition(budget, {{"type", "DisruptionAllowed"},
                        {"status", allowed ? "True" : "False"},
                        {"observedGeneration", Integer(budget, "metadata.generation")},
                        {"lastTransitionTime", FormatTime(now)},
                        {"reason", allowed ? "SufficientPods" : "InsufficientPods"},
                        {"message", ""}});
}

}  // namespace

ApiResult<> Verbs::Evict(const Place& place, const DeleteOptions& options) {
  const ObjectPtr pod = store_.Get(place.type, place.key());
  if (!pod) return NotFound(place.type, place.name);
  const Document document = pod->Parse();
  const auto phase = FindString(document.root(), "status.phase");
  const bool deleting = !FindString(document.root(), "metadata.deletionTimestamp").empty();
  if (phase == "Running" && !deleting) {
    BERTH_RETURN_IF_ERROR(TakeFromBudget(*pod, options.dry_run));
    const auto disrupt = [&](json::object& changed) -> ApiResult<> {
      PutCondition(changed, {{"type", "DisruptionTarget"},
                             {"status", "True"},
                             {"reason", "EvictionByEvictionAPI"},
                             {"message", "Eviction API: evicting"},
                             {"lastTransitionTime", FormatTime(clock_.WallNow())}});
      return {};
    };
    BERTH_RETURN_IF_ERROR(Edit(place, Part::kStatus, disrupt, options.dry_run));
  }
  BERTH_RETURN_IF_ERROR(Delete(place, options));
  return {};
}

ApiResult<> Verbs::TakeFromBudget(const Object& pod, DryRun dry_run) {
  ObjectPtr budget;
  for (const auto& [_, candidate] : store_.All(Known().disruption_budgets)) {
    if (candidate->ns != pod.ns) continue;
    const Document document = candidate->Parse();
    const json::object* selector = FindObject(document.root(), "spec.selector");
    const auto parsed = selector != nullptr ? LabelSelector::FromObject(*selector) : LabelSelector();
    if (selector == nullptr || !parsed || !parsed->Matches(pod)) continue;
    if (budget) {
      return Plain500(
          "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
    }
    budget = candidate;
  }
  if (!budget) return {};
  const Document document = budget->Parse();
  if (!IsReady(pod.Parse().root()) && AllowsUnhealthy(document.root())) return {};
  if (Integer(document.root(), "status.observedGeneration") < Integer(document.root(), "metadata.generation"))
    return NotYetObserved(*budget);
  const auto allowed = Integer(document.root(), "status.disruptionsAllowed");
  if (allowed <= 0) return WouldViolate(*budget, document.root());
  const auto take = [&](json::object& changed) -> ApiResult<> {
    json::object& status = ObjectAt(changed, "status");
    status["disruptionsAllowed"] = allowed - 1;
    ObjectAt(status, "disruptedPods")[pod.name] = FormatTime(clock_.WallNow());
    SetDisruptionAllowed(changed, allowed > 1, clock_.WallNow());
    return {};
  };
  BERTH_RETURN_IF_ERROR(
      Edit({Known().disruption_budgets, budget->ns, budget->name}, Part::kStatus, take, dry_run));
  return {};
}

}  // namespace berth::sandbox
