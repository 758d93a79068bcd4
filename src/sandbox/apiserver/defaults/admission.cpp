// Admission and initial status of new objects.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sandbox/apiserver/defaults/defaults.hpp"
#include "sandbox/apiserver/defaults/members.hpp"

namespace berth::sandbox {
namespace {

// Adds the toleration unless the pod already tolerates the key or everything.
void DefaultToleration(json::object& spec, std::string_view key) {
  auto& tolerations = ArrayAt(spec, "tolerations");
  const bool tolerated = std::ranges::any_of(tolerations, [&](const json::value& value) {
    if (!value.is_object()) return false;
    const auto& toleration = value.get_object();
    const auto its_key = FindString(toleration, "key");
    const auto effect = FindString(toleration, "effect");
    return (its_key == key || its_key.empty()) && (effect == "NoExecute" || effect.empty());
  });
  if (tolerated) return;
  tolerations.push_back(json::object{
      {"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}});
}

// The default priority class: of several, the one with the lowest value.
ObjectPtr DefaultClass(const Store& store, std::int64_t& value) {
  ObjectPtr best;
  for (const auto& [_, object] : store.All(Known().priority_classes)) {
    const Document document = object->Parse();
    const json::value* is_default = Find(document.root(), "globalDefault");
    const json::value* its_value = Find(document.root(), "value");
    if (is_default == nullptr || !is_default->is_bool() || !is_default->get_bool() || its_value == nullptr)
      continue;
    const auto number = its_value->if_int64() != nullptr ? *its_value->if_int64() : 0;
    if (best && number >= value) continue;
    best = object;
    value = number;
  }
  return best;
}

ApiResult<> ResolvePriority(const Store& store, json::object& pod) {
  json::object& spec = ObjectAt(pod, "spec");
  const std::string class_name(FindString(spec, "priorityClassName"));
  std::int64_t value = 0;
  ObjectPtr chosen =
      class_name.empty() ? DefaultClass(store, value) : store.Get(Known().priority_classes, class_name);
  if (!class_name.empty() && !chosen) {
    return Forbidden(Known().pods, FindString(pod, "metadata.name"),
                     fmt::format("no PriorityClass with name {} was found", class_name));
  }
  std::string preemption = "PreemptLowerPriority";
  if (chosen) {
    const Document document = chosen->Parse();
    const json::value* its_value = Find(document.root(), "value");
    if (its_value != nullptr && its_value->is_int64()) value = its_value->get_int64();
    if (const auto policy = FindString(document.root(), "preemptionPolicy"); !policy.empty())
      preemption = policy;
    spec["priorityClassName"] = chosen->name;
  }
  const json::value* wanted = Find(spec, "priority");
  if (wanted != nullptr && wanted->is_int64() && wanted->get_int64() != value) {
    return Forbidden(
        Known().pods, FindString(pod, "metadata.name"),
        fmt::format("the integer value of priority ({}) must not be provided in pod spec; priority "
                    "admission controller computed {} from the given PriorityClass name",
                    wanted->get_int64(), value));
  }
  spec["priority"] = value;
  const auto wanted_policy = FindString(spec, "preemptionPolicy");
  if (!wanted_policy.empty() && wanted_policy != preemption) {
    return Forbidden(
        Known().pods, FindString(pod, "metadata.name"),
        fmt::format("the string value of PreemptionPolicy ({}) must not be provided in pod spec; priority "
                    "admission controller computed {} from the given PriorityClass name",
                    wanted_policy, preemption));
  }
  spec["preemptionPolicy"] = preemption;
  return {};
}

// matchLabelKeys: ["k"] on a pod with label k=v means "selector and k in (v)".
void MergeLabelKeys(const json::object& labels, json::object& term, std::string_view keys_name,
                    std::string_view op) {
  const json::array* keys = FindArray(term, keys_name);
  if (keys == nullptr || FindObject(term, "labelSelector") == nullptr) return;
  for (const auto& key : *keys) {
    const json::value* value = key.is_string() ? Find(labels, key.get_string()) : nullptr;
    if (value == nullptr) continue;
    ArrayAt(ObjectAt(term, "labelSelector"), "matchExpressions")
        .push_back(json::object{{"key", key}, {"operator", op}, {"values", json::array{*value}}});
  }
}

void MergeAllLabelKeys(json::object& pod) {
  const json::object* labels = FindObject(pod, "metadata.labels");
  if (labels == nullptr) return;
  json::object& spec = ObjectAt(pod, "spec");
  ForEachObject(spec, "topologySpreadConstraints", [&](json::object& constraint) {
    MergeLabelKeys(*labels, constraint, "matchLabelKeys", "In");
  });
  if (FindObject(spec, "affinity") == nullptr) return;
  const auto merge = [&](json::object& term) {
    MergeLabelKeys(*labels, term, "matchLabelKeys", "In");
    MergeLabelKeys(*labels, term, "mismatchLabelKeys", "NotIn");
  };
  for (const std::string_view which : {"podAffinity", "podAntiAffinity"}) {
    json::value* affinity = ObjectAt(spec, "affinity").if_contains(which);
    if (affinity == nullptr || !affinity->is_object()) continue;
    ForEachObject(affinity->get_object(), "requiredDuringSchedulingIgnoredDuringExecution", merge);
    ForEachObject(affinity->get_object(), "preferredDuringSchedulingIgnoredDuringExecution",
                  [&](json::object& weighted) {
                    if (FindObject(weighted, "podAffinityTerm") != nullptr)
                      merge(ObjectAt(weighted, "podAffinityTerm"));
                  });
  }
}

json::object FreshStatus(WallTime now, const json::object& spec) {
  json::object status{{"phase", "Pending"}};
  const json::array* gates = FindArray(spec, "schedulingGates");
  if (gates != nullptr && !gates->empty()) {
    status["conditions"] =
        json::array{json::object{{"type", "PodScheduled"},
                                 {"status", "False"},
                                 {"lastTransitionTime", FormatTime(now)},
                                 {"reason", "SchedulingGated"},
                                 {"message", "Scheduling is blocked due to non-empty scheduling gates"}}};
  }
  status["qosClass"] = QosClass(spec);
  return status;
}

// Copies topology labels to pods that are created with a node.
void CopyTopology(const Store& store, json::object& pod) {
  const ObjectPtr node = store.Get(Known().nodes, FindString(pod, "spec.nodeName"));
  if (!node) return;
  for (const std::string_view key : {"topology.kubernetes.io/zone", "topology.kubernetes.io/region"}) {
    if (const std::string* value = node->Label(key))
      ObjectAt(ObjectAt(pod, "metadata"), "labels")[key] = *value;
  }
}

ApiResult<> AdmitPod(const Store& store, WallTime now, json::object& pod) {
  BERTH_RETURN_IF_ERROR(ResolvePriority(store, pod));
  json::object& spec = ObjectAt(pod, "spec");
  SetText(spec, "serviceAccountName", "default");
  SetDefault(spec, "serviceAccount", json::value(spec.at("serviceAccountName")));
  DefaultToleration(spec, "node.kubernetes.io/not-ready");
  DefaultToleration(spec, "node.kubernetes.io/unreachable");
  AdmitPodLevelRequests(ObjectAt(pod, "spec"));
  MergeAllLabelKeys(pod);
  CopyTopology(store, pod);
  pod["status"] = FreshStatus(now, ObjectAt(pod, "spec"));
  return {};
}

// Jobs select their pods by the job's uid, unless manualSelector is set.
void SelectJobPods(json::object& job) {
  const json::value* manual = FindPath(job, "spec.manualSelector");
  if (manual != nullptr && manual->is_bool() && manual->get_bool()) return;
  const std::string uid(FindString(job, "metadata.uid"));
  const std::string name(FindString(job, "metadata.name"));
  json::object& spec = ObjectAt(job, "spec");
  json::object& labels = ObjectAt(ObjectAt(ObjectAt(spec, "template"), "metadata"), "labels");
  labels["batch.kubernetes.io/controller-uid"] = uid;
  labels["batch.kubernetes.io/job-name"] = name;
  labels["controller-uid"] = uid;
  labels["job-name"] = name;
  json::object& own = ObjectAt(ObjectAt(job, "metadata"), "labels");
  if (own.empty()) own = labels;
  ObjectAt(ObjectAt(spec, "selector"), "matchLabels")["batch.kubernetes.io/controller-uid"] = uid;
}

// A virtual address from 10.0.0.0/16, by the number of services created so far.
void GiveAddress(const Store& store, json::object& service) {
  json::object& spec = ObjectAt(service, "spec");
  const auto type = FindString(spec, "type");
  if (type == "ExternalName") return;
  if (FindString(spec, "clusterIP").empty()) {
    const auto number = store.version() % 65533 + 2;
    spec["clusterIP"] = fmt::format("10.0.{}.{}", number / 256, number % 256);
  }
  spec["clusterIPs"] = json::array{json::value(spec.at("clusterIP"))};
  SetDefault(spec, "ipFamilies", json::array{"IPv4"});
  SetDefault(spec, "ipFamilyPolicy", "SingleStack");
}

// Admin access ignores the allocations of other claims; it is allowed in namespaces with this label only.
constexpr std::string_view kAdminNamespace = "resource.kubernetes.io/admin-access";

// The index of the first element with adminAccess below `member` (empty: of the element itself).
std::optional<std::size_t> FirstAdminAccess(const json::array* elements, std::string_view member) {
  for (std::size_t i = 0; elements != nullptr && i < elements->size(); ++i) {
    if (!(*elements)[i].is_object()) continue;
    const json::object& element = (*elements)[i].get_object();
    const json::object* holder = member.empty() ? &element : FindObject(element, member);
    const json::value* wanted = holder != nullptr ? Find(*holder, "adminAccess") : nullptr;
    if (wanted != nullptr && wanted->is_bool() && wanted->get_bool()) return i;
  }
  return std::nullopt;
}

ApiResult<> AllowAdminAccess(const Store& store, const ResourceType& type, const json::object& document,
                             std::string field) {
  const ObjectPtr ns = store.Get(Known().namespaces, FindString(document, "metadata.namespace"));
  const std::string* label = ns ? ns->Label(kAdminNamespace) : nullptr;
  if (label != nullptr && *label == "true") return {};
  return InvalidObject(
      type.group, type.kind, FindString(document, "metadata.name"),
      {FieldForbidden(std::move(field), fmt::format("admin access to devices requires the `{}: true` label "
                                                    "on the containing namespace",
                                                    kAdminNamespace))});
}

ApiResult<> AdmitClaim(const Store& store, const ResourceType& type, const json::object& document) {
  const std::string_view path =
      type.plural == "resourceclaims" ? "spec.devices.requests" : "spec.spec.devices.requests";
  const auto index = FirstAdminAccess(FindArray(document, path), "exactly");
  if (!index) return {};
  // kube-apiserver's path, for claims and templates.
  return AllowAdminAccess(store, type, document,
                          fmt::format("spec.devices.requests[{}].adminAccess", *index));
}

}  // namespace

ApiResult<> AdmitChange(const Store& store, const ResourceType& type, Part part, const json::object& before,
                        const json::object& after) {
  if (type.plural != "resourceclaims" || part != Part::kStatus) return {};
  constexpr std::string_view kResults = "status.allocation.devices.results";
  const auto index = FirstAdminAccess(FindArray(after, kResults), "");
  if (!index || FirstAdminAccess(FindArray(before, kResults), "")) return {};
  return AllowAdminAccess(store, type, after, fmt::format("{}[{}].adminAccess", kResults, *index));
}

ApiResult<> AdmitNew(const Store& store, WallTime now, const ResourceType& type, json::object& document) {
  if (&type == &Known().pods) return AdmitPod(store, now, document);
  if (&type == &Known().namespaces) {
    auto& finalizers = ArrayAt(ObjectAt(document, "spec"), "finalizers");
    const json::value own("kubernetes");
    if (std::ranges::find(finalizers, own) == finalizers.end()) finalizers.push_back(own);
    document["status"] = json::object{{"phase", "Active"}};
  } else if (type.plural == "persistentvolumes") {
    document["status"] = json::object{{"phase", "Available"}};  // the result of the volume controller
  } else if (type.plural == "persistentvolumeclaims") {
    document["status"] = json::object{{"phase", "Pending"}};
  } else if (type.group.empty() && type.plural == "services") {
    GiveAddress(store, document);
  } else if (type.group == "batch" && type.plural == "jobs") {
    SelectJobPods(document);
  } else if (type.has_status && &type != &Known().nodes) {
    document.erase("status");
  }
  if (type.plural == "resourceclaims" || type.plural == "resourceclaimtemplates")
    BERTH_RETURN_IF_ERROR(AdmitClaim(store, type, document));
  return {};
}

}  // namespace berth::sandbox
