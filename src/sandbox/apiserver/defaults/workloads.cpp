// The defaults of workloads, which create pods.
#include "sandbox/apiserver/defaults/members.hpp"

namespace berth::sandbox {
namespace {

void DefaultDeployment(json::object& spec) {
  SetDefault(spec, "replicas", 1);
  SetDefault(spec, "revisionHistoryLimit", 10);
  SetDefault(spec, "progressDeadlineSeconds", 600);
  json::object& strategy = ObjectAt(spec, "strategy");
  SetText(strategy, "type", "RollingUpdate");
  if (FindString(strategy, "type") != "RollingUpdate") return;
  json::object& rolling = ObjectAt(strategy, "rollingUpdate");
  SetDefault(rolling, "maxUnavailable", "25%");
  SetDefault(rolling, "maxSurge", "25%");
}

void DefaultDaemonSet(json::object& spec) {
  SetDefault(spec, "revisionHistoryLimit", 10);
  json::object& strategy = ObjectAt(spec, "updateStrategy");
  SetText(strategy, "type", "RollingUpdate");
  if (FindString(strategy, "type") != "RollingUpdate") return;
  json::object& rolling = ObjectAt(strategy, "rollingUpdate");
  SetDefault(rolling, "maxUnavailable", 1);
  SetDefault(rolling, "maxSurge", 0);
}

void DefaultStatefulSet(json::object& spec) {
  SetText(spec, "podManagementPolicy", "OrderedReady");
  SetDefault(spec, "replicas", 1);
  SetDefault(spec, "revisionHistoryLimit", 10);
  json::object& strategy = ObjectAt(spec, "updateStrategy");
  SetText(strategy, "type", "RollingUpdate");
  if (FindString(strategy, "type") == "RollingUpdate")
    SetDefault(ObjectAt(strategy, "rollingUpdate"), "partition", 0);
  if (json::object* rolling = Below(strategy, "rollingUpdate")) SetDefault(*rolling, "maxUnavailable", 1);
  json::object& retention = ObjectAt(spec, "persistentVolumeClaimRetentionPolicy");
  SetText(retention, "whenDeleted", "Retain");
  SetText(retention, "whenScaled", "Retain");
  ForEachObject(spec, "volumeClaimTemplates", [](json::object& claim) {
    SetText(claim, "kind", "PersistentVolumeClaim");
    SetText(claim, "apiVersion", "v1");
    SetDefault(ObjectAt(claim, "spec"), "volumeMode", "Filesystem");
    SetText(ObjectAt(claim, "status"), "phase", "Pending");
  });
}

void DefaultJobSpec(json::object& spec) {
  if (!spec.contains("completions") && !spec.contains("parallelism")) {
    spec["completions"] = 1;
    spec["parallelism"] = 1;
  }
  SetDefault(spec, "parallelism", 1);
  SetDefault(spec, "backoffLimit", 6);
  SetDefault(spec, "completionMode", "NonIndexed");
  SetDefault(spec, "suspend", false);
  SetDefault(spec, "manualSelector", false);
  SetDefault(spec, "podReplacementPolicy",
             spec.contains("podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
}

void DefaultTemplate(json::object& spec) {
  if (json::object* pods = Below(spec, "template")) DefaultPodSpec(ObjectAt(*pods, "spec"));
}

void DefaultReplicationController(json::object& document, json::object& spec) {
  SetDefault(spec, "replicas", 1);
  const json::object* labels = FindObject(spec, "template.metadata.labels");
  if (labels == nullptr) return;
  const json::object copy = *labels;
  if (FindObject(spec, "selector") == nullptr) spec["selector"] = copy;
  json::object& metadata = ObjectAt(document, "metadata");
  if (FindObject(metadata, "labels") == nullptr) metadata["labels"] = copy;
}

}  // namespace

void DefaultWorkload(std::string_view plural, json::object& document) {
  ObjectAt(document, "spec");
  if (plural == "daemonsets") {  // must come last: may invalidate references into the spec
    json::object& annotations = ObjectAt(ObjectAt(document, "metadata"), "annotations");
    SetDefault(annotations, "deprecated.daemonset.template.generation", "1");
  }
  json::object& spec = ObjectAt(document, "spec");
  if (plural == "deployments") DefaultDeployment(spec);
  if (plural == "daemonsets") DefaultDaemonSet(spec);
  if (plural == "statefulsets") DefaultStatefulSet(spec);
  if (plural == "replicasets") SetDefault(spec, "replicas", 1);
  if (plural == "jobs") DefaultJobSpec(spec);
  if (plural == "replicationcontrollers") DefaultReplicationController(document, ObjectAt(document, "spec"));
  if (plural == "cronjobs") {
    SetText(spec, "concurrencyPolicy", "Allow");
    SetDefault(spec, "suspend", false);
    SetDefault(spec, "successfulJobsHistoryLimit", 3);
    SetDefault(spec, "failedJobsHistoryLimit", 1);
    DefaultTemplate(ObjectAt(ObjectAt(spec, "jobTemplate"), "spec"));
  }
  DefaultTemplate(ObjectAt(document, "spec"));
}

}  // namespace berth::sandbox
