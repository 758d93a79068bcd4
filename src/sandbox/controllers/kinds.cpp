#include "sandbox/controllers/kinds.hpp"

namespace berth::sandbox {

const ControlledKinds& Kinds() {
  static const ControlledKinds kinds{
      .config_maps = *FindResource("", "v1", "configmaps"),
      .service_accounts = *FindResource("", "v1", "serviceaccounts"),
      .services = *FindResource("", "v1", "services"),
      .endpoints = *FindResource("", "v1", "endpoints"),
      .endpoint_slices = *FindResource("discovery.k8s.io", "v1", "endpointslices"),
      .deployments = *FindResource("apps", "v1", "deployments"),
      .replica_sets = *FindResource("apps", "v1", "replicasets"),
      .stateful_sets = *FindResource("apps", "v1", "statefulsets"),
      .daemon_sets = *FindResource("apps", "v1", "daemonsets"),
      .controller_revisions = *FindResource("apps", "v1", "controllerrevisions"),
      .jobs = *FindResource("batch", "v1", "jobs"),
      .cron_jobs = *FindResource("batch", "v1", "cronjobs"),
      .claims = *FindResource("", "v1", "persistentvolumeclaims"),
      .volumes = *FindResource("", "v1", "persistentvolumes"),
      .storage_classes = *FindResource("storage.k8s.io", "v1", "storageclasses"),
      .resource_claims = *FindResource("resource.k8s.io", "v1", "resourceclaims"),
      .resource_claim_templates = *FindResource("resource.k8s.io", "v1", "resourceclaimtemplates"),
      .resource_slices = *FindResource("resource.k8s.io", "v1", "resourceslices"),
      .device_classes = *FindResource("resource.k8s.io", "v1", "deviceclasses"),
      .pod_groups = *FindResource("scheduling.k8s.io", "v1beta1", "podgroups"),
  };
  return kinds;
}

}  // namespace berth::sandbox
