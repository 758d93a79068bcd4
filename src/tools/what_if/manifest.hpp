// Pods of manifests: single pods, and the pods that controllers create from workloads.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/api/objects.hpp"
#include "kubernetes/api/retained_fields.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/assembly/loaded_cluster.hpp"

namespace berth::what_if {

// What a manifest is read with.
struct ManifestContext {
  const api::RetainedFields& retained;
  const std::map<std::string, assembly::LoadedCluster::PriorityClass>& priority_classes;
  const std::string& ns;  // of objects without one
};

// Pods that differ only in their names.
struct PodSource {
  std::string kind;  // "Deployment"; "Pod": a single pod without controller
  std::string name;  // of the workload or of the pod
  api::Pod model;    // without UID; the name is that of the pod, empty for workloads
  std::size_t count = 1;
};

// Objects that the workloads need besides their pods: the ReplicaSet of a Deployment, a StatefulSet, pod
// groups, claims, services, and other kinds that the scheduler reads.
struct Manifest {
  std::vector<PodSource> pods;  // in the order of the file
  std::vector<ports::ClusterChange> objects;
};

// Accepts Pod, Deployment, ReplicaSet, StatefulSet, ReplicationController, Job, and the kinds that a
// scheduler reads except Node. Fills in defaults and the priority of the class, as admission does. Errors
// name document, field, value and expectation.
Expected<Manifest> ReadManifest(std::string_view text, const std::string& file,
                                const ManifestContext& context);

// The first Node of a file.
Expected<api::Node> ReadNode(std::string_view text, const std::string& file);

}  // namespace berth::what_if
