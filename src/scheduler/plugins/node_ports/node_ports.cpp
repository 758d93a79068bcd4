#include "scheduler/plugins/node_ports/node_ports.hpp"

#include <algorithm>

#include "scheduler/cluster/prepare_pod.hpp"

namespace berth::plugins {
namespace {

using cluster::AddressId;
using cluster::HostPort;
using cluster::SymbolTable;

// Whether a port of the pod that left its node conflicts with one of `wanted`, which is ascending. This is
// evaluated for every waiting pod, and the other pod may have a hundred thousand ports: nothing is interned
// or allocated.
bool Frees(const api::Pod& gone, const std::vector<HostPort>& wanted, const SymbolTable& symbols) {
  if (wanted.empty()) return false;
  return cluster::AnyHostPort(gone, [&](const api::ContainerPort& port) {
    const auto same = std::ranges::equal_range(wanted, symbols.FindPort(port.protocol, port.host_port), {},
                                               &HostPort::port);
    if (same.empty()) return false;
    const AddressId address =
        port.host_ip.empty() ? cluster::kAnyAddress : symbols.addresses.Find(port.host_ip);
    // Any address is the lowest id.
    return address == cluster::kAnyAddress || same.front().address == cluster::kAnyAddress ||
           std::ranges::binary_search(same, address, {}, &HostPort::address);
  });
}

}  // namespace

NodePorts::NodePorts(framework::Handle& handle)
    : symbols_(handle.symbols),
      reason_(handle.reasons.Intern("node(s) didn't have free ports for the requested pod ports")) {}

framework::PreFilterResult NodePorts::PreFilter(const framework::Attempt& attempt) const {
  if (attempt.pod().use().ports.empty()) return {framework::Status::Skip(), std::nullopt};
  return {};
}

void NodePorts::Filter(const framework::Attempt& attempt, const RowSet&, framework::Rejections& out) const {
  RowSet& rejected = out.Reject(reason_, attempt.nodes().rows());
  for (const cluster::HostPort& port : attempt.pod().use().ports)
    attempt.nodes().AddPortConflicts(port, rejected);
}

std::vector<framework::EventRegistration> NodePorts::EventsToRegister() const {
  using namespace framework;
  return {WhenAssignedPod(kDelete,
                          [this](const cluster::PodInfo& pod, const api::Pod* gone, const api::Pod*) {
                            return IsBoundOrNominated(*gone) && Frees(*gone, pod.use().ports, symbols_)
                                       ? Hint::kQueue
                                       : Hint::kSkip;
                          }),
          {EventResource::kNode, kAdd}};
}

}  // namespace berth::plugins
