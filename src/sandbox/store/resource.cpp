#include "sandbox/store/resource.hpp"

#include <deque>
#include <string>
#include <vector>

#include "sandbox/store/schema/schema.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kPodFields =
    "spec.nodeName,spec.restartPolicy,spec.schedulerName,spec.serviceAccountName,spec.hostNetwork,"
    "status.phase,status.podIP,status.podIPs,status.nominatedNodeName";
constexpr std::string_view kEventFields =
    "involvedObject.kind,involvedObject.namespace,involvedObject.name,involvedObject.uid,involvedObject."
    "apiVersion,"
    "involvedObject.resourceVersion,involvedObject.fieldPath,reason,reportingComponent,source,type";

// clang-format off: a row is easier to read in one or two lines
std::vector<ResourceType> CoreTypes() {
  return {
      {.group = "", .version = "v1", .plural = "configmaps", .singular = "configmap", .kind = "ConfigMap",
       .short_names = "cm", .namespaced = true},
      {.group = "", .version = "v1", .plural = "endpoints", .singular = "endpoints", .kind = "Endpoints",
       .short_names = "ep", .namespaced = true},
      {.group = "", .version = "v1", .plural = "events", .singular = "event", .kind = "Event", .short_names = "ev",
       .fields = kEventFields, .namespaced = true},
      {.group = "", .version = "v1", .plural = "limitranges", .singular = "limitrange", .kind = "LimitRange",
       .short_names = "limits", .namespaced = true},
      {.group = "", .version = "v1", .plural = "namespaces", .singular = "namespace", .kind = "Namespace",
       .short_names = "ns", .fields = "status.phase", .has_status = true, .delete_shows_object = true},
      {.group = "", .version = "v1", .plural = "nodes", .singular = "node", .kind = "Node", .short_names = "no",
       .fields = "spec.unschedulable", .has_status = true},
      {.group = "", .version = "v1", .plural = "persistentvolumeclaims", .singular = "persistentvolumeclaim",
       .kind = "PersistentVolumeClaim", .short_names = "pvc", .namespaced = true, .has_status = true,
       .delete_shows_object = true},
      {.group = "", .version = "v1", .plural = "persistentvolumes", .singular = "persistentvolume",
       .kind = "PersistentVolume", .short_names = "pv", .has_status = true, .delete_shows_object = true},
      {.group = "", .version = "v1", .plural = "pods", .singular = "pod", .kind = "Pod", .short_names = "po",
       .fields = kPodFields, .namespaced = true, .has_status = true, .tracks_generation = true, .in_all = true,
       .delete_shows_object = true},
      {.group = "", .version = "v1", .plural = "podtemplates", .singular = "podtemplate", .kind = "PodTemplate",
       .namespaced = true, .tracks_generation = true, .delete_shows_object = true},
      {.group = "", .version = "v1", .plural = "replicationcontrollers", .singular = "replicationcontroller",
       .kind = "ReplicationController", .short_names = "rc", .fields = "status.replicas", .namespaced = true,
       .has_status = true, .has_scale = true, .tracks_generation = true, .in_all = true},
      {.group = "", .version = "v1", .plural = "resourcequotas", .singular = "resourcequota",
       .kind = "ResourceQuota", .short_names = "quota", .namespaced = true, .has_status = true,
       .delete_shows_object = true},
      {.group = "", .version = "v1", .plural = "secrets", .singular = "secret", .kind = "Secret", .fields = "type",
       .namespaced = true},
      {.group = "", .version = "v1", .plural = "serviceaccounts", .singular = "serviceaccount",
       .kind = "ServiceAccount", .short_names = "sa", .namespaced = true, .delete_shows_object = true},
      {.group = "", .version = "v1", .plural = "services", .singular = "service", .kind = "Service",
       .short_names = "svc", .fields = "spec.clusterIP,spec.type", .namespaced = true, .has_status = true,
       .in_all = true, .delete_shows_object = true},
  };
}

std::vector<ResourceType> WorkloadTypes() {
  return {
      {.group = "apps", .version = "v1", .plural = "controllerrevisions", .singular = "controllerrevision",
       .kind = "ControllerRevision", .namespaced = true},
      {.group = "apps", .version = "v1", .plural = "daemonsets", .singular = "daemonset", .kind = "DaemonSet",
       .short_names = "ds", .namespaced = true, .has_status = true, .tracks_generation = true, .in_all = true},
      {.group = "apps", .version = "v1", .plural = "deployments", .singular = "deployment", .kind = "Deployment",
       .short_names = "deploy", .namespaced = true, .has_status = true, .has_scale = true,
       .tracks_generation = true, .in_all = true},
      {.group = "apps", .version = "v1", .plural = "replicasets", .singular = "replicaset", .kind = "ReplicaSet",
       .short_names = "rs", .namespaced = true, .has_status = true, .has_scale = true, .tracks_generation = true,
       .in_all = true},
      {.group = "apps", .version = "v1", .plural = "statefulsets", .singular = "statefulset", .kind = "StatefulSet",
       .short_names = "sts", .namespaced = true, .has_status = true, .has_scale = true, .tracks_generation = true,
       .in_all = true},
      {.group = "autoscaling", .version = "v2", .plural = "horizontalpodautoscalers",
       .singular = "horizontalpodautoscaler", .kind = "HorizontalPodAutoscaler", .short_names = "hpa",
       .namespaced = true, .has_status = true, .in_all = true},
      {.group = "batch", .version = "v1", .plural = "cronjobs", .singular = "cronjob", .kind = "CronJob",
       .short_names = "cj", .namespaced = true, .has_status = true, .tracks_generation = true, .in_all = true},
      {.group = "batch", .version = "v1", .plural = "jobs", .singular = "job", .kind = "Job",
       .fields = "status.successful", .namespaced = true, .has_status = true, .tracks_generation = true,
       .in_all = true},
      {.group = "policy", .version = "v1", .plural = "poddisruptionbudgets", .singular = "poddisruptionbudget",
       .kind = "PodDisruptionBudget", .short_names = "pdb", .namespaced = true, .has_status = true,
       .tracks_generation = true, .needs_version = true},
  };
}

std::vector<ResourceType> ClusterTypes() {
  return {
      {.group = "coordination.k8s.io", .version = "v1", .plural = "leases", .singular = "lease", .kind = "Lease",
       .namespaced = true, .needs_version = true},
      {.group = "discovery.k8s.io", .version = "v1", .plural = "endpointslices", .singular = "endpointslice",
       .kind = "EndpointSlice", .namespaced = true, .tracks_generation = true},
      {.group = "networking.k8s.io", .version = "v1", .plural = "ingressclasses", .singular = "ingressclass",
       .kind = "IngressClass", .tracks_generation = true},
      {.group = "networking.k8s.io", .version = "v1", .plural = "ingresses", .singular = "ingress",
       .kind = "Ingress", .short_names = "ing", .namespaced = true, .has_status = true, .tracks_generation = true},
      {.group = "networking.k8s.io", .version = "v1", .plural = "networkpolicies", .singular = "networkpolicy",
       .kind = "NetworkPolicy", .short_names = "netpol", .namespaced = true, .tracks_generation = true},
      {.group = "node.k8s.io", .version = "v1", .plural = "runtimeclasses", .singular = "runtimeclass",
       .kind = "RuntimeClass", .needs_version = true},
      {.group = "rbac.authorization.k8s.io", .version = "v1", .plural = "clusterrolebindings",
       .singular = "clusterrolebinding", .kind = "ClusterRoleBinding"},
      {.group = "rbac.authorization.k8s.io", .version = "v1", .plural = "clusterroles", .singular = "clusterrole",
       .kind = "ClusterRole"},
      {.group = "rbac.authorization.k8s.io", .version = "v1", .plural = "rolebindings", .singular = "rolebinding",
       .kind = "RoleBinding", .namespaced = true},
      {.group = "rbac.authorization.k8s.io", .version = "v1", .plural = "roles", .singular = "role", .kind = "Role",
       .namespaced = true},
      {.group = "resource.k8s.io", .version = "v1", .plural = "deviceclasses", .singular = "deviceclass",
       .kind = "DeviceClass", .tracks_generation = true, .delete_shows_object = true},
      {.group = "resource.k8s.io", .version = "v1", .plural = "devicetaintrules", .singular = "devicetaintrule",
       .kind = "DeviceTaintRule", .has_status = true, .tracks_generation = true, .delete_shows_object = true},
      {.group = "resource.k8s.io", .version = "v1", .plural = "resourceclaims", .singular = "resourceclaim",
       .kind = "ResourceClaim", .namespaced = true, .has_status = true, .delete_shows_object = true},
      {.group = "resource.k8s.io", .version = "v1", .plural = "resourceclaimtemplates",
       .singular = "resourceclaimtemplate", .kind = "ResourceClaimTemplate", .namespaced = true,
       .delete_shows_object = true},
      {.group = "resource.k8s.io", .version = "v1", .plural = "resourceslices", .singular = "resourceslice",
       .kind = "ResourceSlice", .fields = "spec.nodeName,spec.driver", .tracks_generation = true,
       .delete_shows_object = true},
      {.group = "scheduling.k8s.io", .version = "v1", .plural = "priorityclasses", .singular = "priorityclass",
       .kind = "PriorityClass", .short_names = "pc", .tracks_generation = true},
      {.group = "scheduling.k8s.io", .version = "v1beta1", .plural = "podgroups", .singular = "podgroup",
       .kind = "PodGroup", .namespaced = true, .has_status = true, .tracks_generation = true},
      // Of Koordinator and of scheduler-plugins; CapacityScheduling reads one of them.
      {.group = "scheduling.sigs.k8s.io", .version = "v1alpha1", .plural = "elasticquotas",
       .singular = "elasticquota", .kind = "ElasticQuota", .short_names = "eq,eqs", .namespaced = true,
       .has_status = true, .tracks_generation = true},
      {.group = "scheduling.x-k8s.io", .version = "v1alpha1", .plural = "elasticquotas", .singular = "elasticquota",
       .kind = "ElasticQuota", .short_names = "eq,eqs", .namespaced = true, .has_status = true,
       .tracks_generation = true},
      {.group = "storage.k8s.io", .version = "v1", .plural = "csidrivers", .singular = "csidriver",
       .kind = "CSIDriver", .needs_version = true, .delete_shows_object = true},
      {.group = "storage.k8s.io", .version = "v1", .plural = "csinodes", .singular = "csinode", .kind = "CSINode",
       .needs_version = true, .delete_shows_object = true},
      {.group = "storage.k8s.io", .version = "v1", .plural = "csistoragecapacities",
       .singular = "csistoragecapacity", .kind = "CSIStorageCapacity", .namespaced = true, .needs_version = true,
       .delete_shows_object = true},
      {.group = "storage.k8s.io", .version = "v1", .plural = "storageclasses", .singular = "storageclass",
       .kind = "StorageClass", .short_names = "sc", .delete_shows_object = true},
      {.group = "storage.k8s.io", .version = "v1", .plural = "volumeattachments", .singular = "volumeattachment",
       .kind = "VolumeAttachment", .has_status = true, .needs_version = true, .delete_shows_object = true},
  };
}

// clang-format on

// The table with its derived texts; static lifetime.
struct Table {
  std::vector<ResourceType> rows;
  std::deque<std::string> texts;

  Table() {
    for (auto part : {CoreTypes(), WorkloadTypes(), ClusterTypes()})
      rows.insert(rows.end(), part.begin(), part.end());
    for (std::size_t i = 0; i < rows.size(); ++i) Derive(rows[i], i);
  }
  void Derive(ResourceType& row, std::size_t index) {
    row.index = index;
    const std::string group(row.group), version(row.version), plural(row.plural), kind(row.kind);
    row.schema = FindSchema(row.group, row.kind);
    row.group_version_text = texts.emplace_back(group.empty() ? version : group + "/" + version);
    row.qualified_text = texts.emplace_back(group.empty() ? plural : plural + "." + group);
    row.prefix_text = texts.emplace_back("{\"kind\":\"" + kind + "\",\"apiVersion\":\"" +
                                         std::string(row.group_version_text) + "\",");
  }
};

}  // namespace

std::span<const ResourceType> Resources() {
  static const Table table;
  return table.rows;
}

const ResourceType* FindResource(std::string_view group, std::string_view version, std::string_view plural) {
  for (const auto& type : Resources()) {
    if (type.plural == plural && type.group == group && type.version == version) return &type;
  }
  return nullptr;
}

const KnownResources& Known() {
  static const KnownResources known{
      .pods = *FindResource("", "v1", "pods"),
      .nodes = *FindResource("", "v1", "nodes"),
      .namespaces = *FindResource("", "v1", "namespaces"),
      .events = *FindResource("", "v1", "events"),
      .leases = *FindResource("coordination.k8s.io", "v1", "leases"),
      .priority_classes = *FindResource("scheduling.k8s.io", "v1", "priorityclasses"),
      .disruption_budgets = *FindResource("policy", "v1", "poddisruptionbudgets"),
  };
  return known;
}

}  // namespace berth::sandbox
