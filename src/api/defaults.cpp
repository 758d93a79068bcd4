#include "api/decode.hpp"

namespace berth::api {
namespace {

void RoundUp(ResourceList& list) {
  for (auto& [name, quantity] : list) quantity.RoundUpToMilli();
}
void RoundUp(std::optional<ResourceList>& list) {
  if (list) RoundUp(*list);
}

void DefaultContainer(Container& container, bool host_network) {
  RoundUp(container.resources.requests);
  RoundUp(container.resources.limits);
  for (const auto& [name, limit] : container.resources.limits) container.resources.requests.try_emplace(name, limit);
  for (ContainerPort& port : container.ports) {
    if (port.protocol.empty()) port.protocol = "TCP";
    if (host_network && port.host_port == 0) port.host_port = port.container_port;
  }
}

void DefaultStatus(ContainerStatus& status) {
  RoundUp(status.allocated_resources);
  RoundUp(status.resource_requests);
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
  }
  RoundUp(pod.spec.overhead);
  for (ContainerStatus& status : pod.status.container_statuses) DefaultStatus(status);
  for (ContainerStatus& status : pod.status.init_container_statuses) DefaultStatus(status);
  RoundUp(pod.status.allocated_resources);
  RoundUp(pod.status.resource_requests);
}

void ApplyDefaults(Node& node) {
  if (node.allocatable.empty()) node.allocatable = node.capacity;
  RoundUp(node.allocatable);
}

}  // namespace berth::api
