#include "scheduler/cycle/overcommitment.hpp"

#include <fmt/format.h>

#include "observability/log/log.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/cluster/prepare_pod.hpp"

namespace berth::cycle {
namespace {

// What the pods on the row request beyond its capacity, of the resources that `pod` requests: "pods 111 of
// 110, milli-cpu 4100 of 4000". Empty: nothing.
std::string Exceeded(const api::Pod& pod, const cluster::NodeTable& nodes, cluster::Row row,
                     cluster::SymbolTable& symbols) {
  std::string exceeded;
  const auto check = [&](std::string_view resource, std::int64_t requested, std::int64_t capacity) {
    if (requested <= capacity) return;
    exceeded += fmt::format("{}{} {} of {}", exceeded.empty() ? "" : ", ", resource, requested, capacity);
  };
  check("pods", nodes.pod_count()[row], nodes.allowed_pods()[row]);
  const auto check_resource = [&](cluster::ResourceId id, std::int64_t request, std::string_view resource) {
    const auto capacity = nodes.allocatable(id);
    if (request > 0) check(resource, nodes.RequestedOn(row, id), capacity.empty() ? 0 : capacity[row]);
  };
  const cluster::Amounts requests = cluster::UseOf(pod, symbols)->requested;
  check_resource(cluster::kCpu, requests.milli_cpu, "milli-cpu");
  check_resource(cluster::kMemory, requests.memory, "memory");
  check_resource(cluster::kEphemeralStorage, requests.ephemeral_storage, "ephemeral-storage");
  // A pod may name thousands of resources that only its node lists: a column would take memory for all nodes.
  const api::ResourceList& offered = nodes.node(row).allocatable;
  for (const auto& [id, amount] : requests.scalars) {
    if (amount <= 0) continue;
    const std::string& resource = symbols.ResourceName(id);
    const auto found = offered.find(resource);
    check(resource, nodes.RequestedOn(row, id), found == offered.end() ? 0 : found->second.Value());
  }
  return exceeded;
}

}  // namespace

void OvercommitmentReport::Check(const api::Pod& pod) const {
  const cluster::NodeTable& nodes = cluster_.nodes();
  const cluster::Row row = nodes.Find(pod.spec.node_name);
  if (row == cluster::kNoRow) return;
  const std::string exceeded = Exceeded(pod, nodes, row, symbols_);
  if (exceeded.empty()) return;
  overcommitted_.Add();
  log::Warning("Node overcommitted by a pod bound by another scheduler",
               {{"pod", pod.metadata.Key()}, {"node", pod.spec.node_name.str()}, {"exceeded", exceeded}});
  events_.Emit({ports::Event::Type::kWarning, "OvercommittedNode", "Scheduling",
                fmt::format("Node {} is overcommitted since this pod was bound to it: {}", pod.spec.node_name,
                            exceeded),
                controller_, cluster_.FindPod(pod.metadata.uid)});
}

}  // namespace berth::cycle
