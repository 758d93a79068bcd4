#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/requests.hpp"

namespace berth::api {
namespace {

void RoundUp(ResourceList& list) {
  for (auto& [name, quantity] : list) quantity.RoundUpToMilli();
}
void RoundUp(CowPtr<ResourceList>& list) {
  if (list) RoundUp(*list);
}

void DefaultContainer(Container& container, bool host_network) {
  RoundUp(container.resources.requests);
  RoundUp(container.resources.limits);
  for (const auto& [name, limit] : container.resources.limits)
    container.resources.requests.try_emplace(name, limit);
  for (ContainerPort& port : container.ports) {
    if (port.protocol.empty()) port.protocol = "TCP";
    if (host_network && port.host_port == 0) port.host_port = port.container_port;
  }
}

void DefaultStatus(ContainerStatus& status) {
  RoundUp(status.allocated_resources);
  RoundUp(status.resource_requests);
}

// The API server sends amounts as text in canonical form.
void Reencode(ResourceList& list) {
  for (auto& [name, quantity] : list) quantity = quantity.Reencoded();
}
void Reencode(CowPtr<ResourceList>& list) {
  if (list) Reencode(*list);
}
void Reencode(CowList<ContainerStatus>& statuses) {
  for (ContainerStatus& status : statuses) {
    Reencode(status.allocated_resources);
    Reencode(status.resource_requests);
  }
}
void Reencode(CowList<Container>& containers) {
  for (Container& container : containers) {
    Reencode(container.resources.requests);
    Reencode(container.resources.limits);
  }
}

// A pod with any pod-level resources gets the others as defaults there: limits of huge pages from its
// containers, requests from the containers' sum or else from its own limits.
void DefaultPodLevel(Pod& pod) {
  if (!pod.spec.resources) return;
  ResourceRequirements& own = *pod.spec.resources;
  if (own.limits.empty() && own.requests.empty()) return;
  for (const auto& [name, limit] : ContainerLimits(pod)) {
    if (name.starts_with("hugepages-") && !own.requests.contains(name)) own.limits.try_emplace(name, limit);
  }
  for (const auto& [name, request] : ContainerRequests(pod)) {
    if (name == "cpu" || name == "memory") own.requests.try_emplace(name, request);
  }
  for (const auto& [name, limit] : own.limits) {
    if (IsPodLevelResource(name)) own.requests.try_emplace(name, limit);
  }
}

}  // namespace

void ApplyDefaults(Pod& pod) {
  if (pod.metadata.ns.empty()) pod.metadata.ns = "default";
  if (pod.spec.scheduler_name.empty()) pod.spec.scheduler_name = "default-scheduler";
  for (Container& container : pod.spec.containers) DefaultContainer(container, pod.spec.host_network);
  for (Container& container : pod.spec.init_containers) DefaultContainer(container, pod.spec.host_network);
  if (pod.spec.resources) {
    RoundUp(pod.spec.resources->requests);
    RoundUp(pod.spec.resources->limits);
    DefaultPodLevel(pod);
  }
  RoundUp(pod.spec.overhead);
  for (ContainerStatus& status : pod.status.container_statuses) DefaultStatus(status);
  for (ContainerStatus& status : pod.status.init_container_statuses) DefaultStatus(status);
  RoundUp(pod.status.allocated_resources);
  RoundUp(pod.status.resource_requests);

  for (Volume& volume : pod.spec.volumes) {
    if (volume.rbd && volume.rbd->pool.empty()) volume.rbd->pool = "rbd";
    if (volume.source == Volume::Source::kAzureDisk && !volume.azure_kind)
      volume.azure_kind = std::string("Shared");
  }

  Reencode(pod.spec.containers);
  Reencode(pod.spec.init_containers);
  if (pod.spec.resources) Reencode(pod.spec.resources->requests);
  Reencode(pod.spec.overhead);
  Reencode(pod.status.container_statuses);
  Reencode(pod.status.init_container_statuses);
  Reencode(pod.status.allocated_resources);
  Reencode(pod.status.resource_requests);
}

void ApplyDefaults(Node& node) {
  if (!node.allocatable_given) node.allocatable = node.capacity;
  RoundUp(node.allocatable);
  Reencode(node.allocatable);
}

void ApplyDefaults(PersistentVolume& volume) {
  if (volume.volume_mode.empty()) volume.volume_mode = "Filesystem";
  if (volume.phase.empty()) volume.phase = "Pending";
  if (volume.source == PersistentVolume::Source::kAzureDisk && !volume.azure_kind)
    volume.azure_kind = std::string("Shared");
  volume.storage.RoundUpToMilli();
  volume.storage = volume.storage.Reencoded();
}

void ApplyDefaults(PersistentVolumeClaim& claim) {
  if (claim.metadata.ns.empty()) claim.metadata.ns = "default";
  if (claim.volume_mode.empty()) claim.volume_mode = "Filesystem";
  if (claim.phase.empty()) claim.phase = "Pending";
  if (!claim.storage) return;
  claim.storage->RoundUpToMilli();
  claim.storage = claim.storage->Reencoded();
}

void ApplyDefaults(StorageClass& storage_class) {
  if (storage_class.volume_binding_mode.empty()) storage_class.volume_binding_mode = "Immediate";
}

void ApplyDefaults(Namespace& ns) {
  // The API server replaces any other value.
  ns.metadata.labels.Set("kubernetes.io/metadata.name", ns.metadata.name);
}

}  // namespace berth::api
