// The defaults of all other kinds.
#include "http/base64.hpp"
#include "sandbox/apiserver/defaults/defaults.hpp"
#include "sandbox/apiserver/defaults/members.hpp"

namespace berth::sandbox {

void DefaultPod(json::object& pod);

namespace {

// stringData is write-only: its values move to data.
void DefaultSecret(json::object& secret) {
  SetText(secret, "type", "Opaque");
  const json::object* texts = FindObject(secret, "stringData");
  if (texts != nullptr) {
    const json::object copy = *texts;
    json::object& data = ObjectAt(secret, "data");
    for (const auto& entry : copy) {
      if (entry.value().is_string()) data[entry.key()] = http::EncodeBase64(entry.value().get_string());
    }
  }
  secret.erase("stringData");
}

void DefaultService(json::object& service) {
  json::object& spec = ObjectAt(service, "spec");
  SetText(spec, "type", "ClusterIP");
  SetText(spec, "sessionAffinity", "None");
  const auto type = FindString(spec, "type");
  const bool external = type == "NodePort" || type == "LoadBalancer";
  const bool virtual_ip = external || type == "ClusterIP";
  if (external) SetText(spec, "externalTrafficPolicy", "Cluster");
  if (virtual_ip) SetDefault(spec, "internalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") SetDefault(spec, "allocateLoadBalancerNodePorts", true);
  ForEachObject(spec, "ports", [](json::object& port) {
    SetText(port, "protocol", "TCP");
    const json::value* target = Find(port, "targetPort");
    const bool unset = target == nullptr || (target->is_int64() && target->get_int64() == 0) ||
                       (target->is_string() && target->get_string().empty());
    if (unset && port.contains("port")) port["targetPort"] = json::value(port.at("port"));
  });
}

void DefaultStorage(std::string_view plural, json::object& document) {
  if (plural == "storageclasses") {
    SetDefault(document, "reclaimPolicy", "Delete");
    SetDefault(document, "volumeBindingMode", "Immediate");
    return;
  }
  json::object& spec = ObjectAt(document, "spec");
  if (plural == "csidrivers") {
    SetDefault(spec, "attachRequired", true);
    SetDefault(spec, "podInfoOnMount", false);
    SetDefault(spec, "storageCapacity", false);
    SetDefault(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    SetDefault(spec, "requiresRepublish", false);
    SetDefault(spec, "seLinuxMount", false);
    if (FindArray(spec, "volumeLifecycleModes") == nullptr)
      spec["volumeLifecycleModes"] = json::array{"Persistent"};
  } else if (plural == "persistentvolumes") {
    SetDefault(spec, "volumeMode", "Filesystem");
    SetText(spec, "persistentVolumeReclaimPolicy", "Retain");
    if (json::object* host = Below(spec, "hostPath")) SetDefault(*host, "type", "");
  } else if (plural == "persistentvolumeclaims") {
    SetDefault(spec, "volumeMode", "Filesystem");
    SetText(ObjectAt(document, "status"), "phase", "Pending");
  }
}

void DefaultNode(json::object& node) {
  json::object& status = ObjectAt(node, "status");
  ObjectAt(node, "spec");
  if (const json::object* capacity = FindObject(status, "capacity")) {
    if (FindObject(status, "allocatable") == nullptr) status["allocatable"] = json::object(*capacity);
  }
}

void DefaultNamespace(json::object& document) {
  const std::string name(FindString(document, "metadata.name"));
  if (!name.empty()) ObjectAt(ObjectAt(document, "metadata"), "labels")["kubernetes.io/metadata.name"] = name;
  SetText(ObjectAt(document, "status"), "phase", "Active");
}

}  // namespace

void DefaultObject(const ResourceType& type, json::object& document, WallTime now) {
  if (&type == &Known().pods) return DefaultPod(document);
  if (&type == &Known().nodes) return DefaultNode(document);
  if (&type == &Known().namespaces) return DefaultNamespace(document);
  if (&type == &Known().priority_classes)
    return SetDefault(document, "preemptionPolicy", "PreemptLowerPriority");
  if (type.plural == "controllerrevisions") return;  // in the same API group as workloads, but not a workload
  if (type.group == "apps" || type.group == "batch" || type.plural == "replicationcontrollers") {
    return DefaultWorkload(type.plural, document);
  }
  if (type.plural == "storageclasses" || type.plural == "csidrivers" ||
      type.plural.starts_with("persistentvolume")) {
    return DefaultStorage(type.plural, document);
  }
  if (type.group == "resource.k8s.io") return DefaultDevices(type.plural, document, now);
  if (type.group.empty() && type.plural == "secrets") return DefaultSecret(document);
  if (type.group.empty() && type.plural == "services") return DefaultService(document);
  if (type.plural == "endpointslices") {
    ForEachObject(document, "ports", [](json::object& port) {
      SetDefault(port, "name", "");
      SetDefault(port, "protocol", "TCP");
    });
  }
}

}  // namespace berth::sandbox
