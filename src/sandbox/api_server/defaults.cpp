#include "sandbox/api_server/defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace berth::sandbox {
namespace {

void SetDefault(json::object& object, std::string_view key, const json::value& value) {
  if (!object.contains(key)) object[key] = value;
}

template <class Visit>
void ForEachObject(json::object& parent, std::string_view list, Visit&& visit) {
  json::value* value = parent.if_contains(list);
  if (value == nullptr || !value->is_array()) return;
  for (auto& element : value->get_array()) {
    if (element.is_object()) visit(element.get_object());
  }
}

void DefaultContainer(json::object& container, bool host_network) {
  const auto image = FindString(container, "image");
  const auto tag = image.substr(image.rfind('/') == std::string_view::npos ? 0 : image.rfind('/') + 1);
  const bool latest = tag.find('@') == std::string_view::npos &&
                      (tag.find(':') == std::string_view::npos || tag.ends_with(":latest"));
  SetDefault(container, "imagePullPolicy", latest ? "Always" : "IfNotPresent");
  SetDefault(container, "terminationMessagePath", "/dev/termination-log");
  SetDefault(container, "terminationMessagePolicy", "File");
  SetDefault(container, "resources", json::object());
  ForEachObject(container, "ports", [&](json::object& port) {
    SetDefault(port, "protocol", "TCP");
    if (host_network && port.contains("containerPort"))
      SetDefault(port, "hostPort", port.at("containerPort"));
  });
}

// Only what appends: a pod that already tolerates the key, or everything, is left alone.
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

// The class without a name that everybody gets: of several, the one with the lowest value.
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

}  // namespace

void DefaultRequests(json::object& spec) {
  const auto copy_limits = [](json::object& container) {
    const json::object* limits = FindObject(container, "resources.limits");
    if (limits == nullptr) return;
    const json::object copy = *limits;  // ObjectAt may move what `limits` points at
    json::object& requests = ObjectAt(ObjectAt(container, "resources"), "requests");
    for (const auto& entry : copy) SetDefault(requests, entry.key(), entry.value());
  };
  ForEachObject(spec, "containers", copy_limits);
  ForEachObject(spec, "initContainers", copy_limits);
}

std::string_view QosClass(const json::object& spec) {
  bool any = false;
  bool guaranteed = true;
  for (const std::string_view list : {"containers", "initContainers"}) {
    const json::array* containers = FindArray(spec, list);
    if (containers == nullptr) continue;
    for (const auto& container : *containers) {
      const json::object empty;
      const json::object& c = container.is_object() ? container.get_object() : empty;
      for (const std::string_view name : {"cpu", "memory"}) {
        const json::object* requests = FindObject(c, "resources.requests");
        const json::object* limits = FindObject(c, "resources.limits");
        const json::value* request = requests != nullptr ? Find(*requests, name) : nullptr;
        const json::value* limit = limits != nullptr ? Find(*limits, name) : nullptr;
        any = any || request != nullptr || limit != nullptr;
        guaranteed = guaranteed && limit != nullptr && (request == nullptr || *request == *limit);
      }
    }
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

ApiResult<> DefaultPod(const Store& store, WallTime now, json::object& pod) {
  json::object& spec = ObjectAt(pod, "spec");
  BERTH_CHECKED(ResolvePriority(store, pod));
  const json::value* host = Find(spec, "hostNetwork");
  const bool host_network = host != nullptr && host->is_bool() && host->get_bool();
  const auto container = [&](json::object& c) { DefaultContainer(c, host_network); };
  ForEachObject(spec, "containers", container);
  ForEachObject(spec, "initContainers", container);
  DefaultRequests(spec);
  SetDefault(spec, "restartPolicy", "Always");
  SetDefault(spec, "terminationGracePeriodSeconds", 30);
  SetDefault(spec, "dnsPolicy", "ClusterFirst");
  SetDefault(spec, "serviceAccountName", "default");
  SetDefault(spec, "serviceAccount", spec.at("serviceAccountName"));
  SetDefault(spec, "securityContext", json::object());
  SetDefault(spec, "schedulerName", "default-scheduler");
  SetDefault(spec, "enableServiceLinks", true);
  DefaultToleration(spec, "node.kubernetes.io/not-ready");
  DefaultToleration(spec, "node.kubernetes.io/unreachable");
  MergeAllLabelKeys(pod);
  pod["status"] = FreshStatus(now, spec);
  return {};
}

namespace {

void DefaultNode(json::object& node) {
  json::object& status = ObjectAt(node, "status");
  ObjectAt(node, "spec");
  if (const json::object* capacity = FindObject(status, "capacity")) {
    if (FindObject(status, "allocatable") == nullptr) status["allocatable"] = json::object(*capacity);
  }
}

void DefaultNamespace(json::object& document) {
  const std::string name(FindString(document, "metadata.name"));
  ObjectAt(ObjectAt(document, "metadata"), "labels")["kubernetes.io/metadata.name"] = name;
  document["spec"] = json::object{{"finalizers", json::array{"kubernetes"}}};
  document["status"] = json::object{{"phase", "Active"}};
}

void DefaultWorkload(const ResourceType& type, json::object& document) {
  json::object& spec = ObjectAt(document, "spec");
  if (type.plural == "deployments" || type.plural == "replicasets" || type.plural == "statefulsets" ||
      type.plural == "replicationcontrollers") {
    SetDefault(spec, "replicas", 1);
  }
  if (type.plural == "jobs") {
    SetDefault(spec, "parallelism", 1);
    SetDefault(spec, "completions", 1);
    SetDefault(spec, "backoffLimit", 6);
  }
}

void DefaultStorage(const ResourceType& type, json::object& document) {
  if (type.plural == "storageclasses") {
    SetDefault(document, "reclaimPolicy", "Delete");
    SetDefault(document, "volumeBindingMode", "Immediate");
    return;
  }
  json::object& spec = ObjectAt(document, "spec");
  if (type.plural == "csidrivers") {
    SetDefault(spec, "attachRequired", true);
    SetDefault(spec, "podInfoOnMount", false);
    SetDefault(spec, "storageCapacity", false);
    SetDefault(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    SetDefault(spec, "volumeLifecycleModes", json::array{"Persistent"});
  } else if (type.plural == "persistentvolumes") {
    SetDefault(spec, "volumeMode", "Filesystem");
    SetDefault(spec, "persistentVolumeReclaimPolicy", "Retain");
    document["status"] = json::object{{"phase", "Available"}};  // what the volume controller would find
  } else if (type.plural == "persistentvolumeclaims") {
    SetDefault(spec, "volumeMode", "Filesystem");
    document["status"] = json::object{{"phase", "Pending"}};
  }
}

}  // namespace

void DefaultObject(const ResourceType& type, json::object& document) {
  if (&type == &Known().nodes) return DefaultNode(document);
  if (&type == &Known().namespaces) return DefaultNamespace(document);
  if (&type == &Known().priority_classes)
    return SetDefault(document, "preemptionPolicy", "PreemptLowerPriority");
  if (type.group == "apps" || type.group == "batch" || type.plural == "replicationcontrollers") {
    return DefaultWorkload(type, document);
  }
  if (type.plural == "storageclasses" || type.plural == "csidrivers" ||
      type.plural.starts_with("persistentvolume")) {
    return DefaultStorage(type, document);
  }
  if (type.plural == "services") {
    json::object& spec = ObjectAt(document, "spec");
    SetDefault(spec, "type", "ClusterIP");
    SetDefault(spec, "sessionAffinity", "None");
  }
}

}  // namespace berth::sandbox
