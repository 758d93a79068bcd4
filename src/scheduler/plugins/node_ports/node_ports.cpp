#include "scheduler/plugins/node_ports/node_ports.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/framework/event_cache.hpp"

namespace berth::plugins {
namespace {

using cluster::AddressId;
using cluster::HostPort;
using cluster::PortId;
using cluster::SymbolTable;

// The host ports of a pod that left its node. Addresses are texts: one that only this pod had has no id.
struct FreedPorts {
  struct Port {
    PortId port = 0;
    std::string_view address;  // of the pod
  };
  std::vector<Port> ports;
};

FreedPorts PortsOf(const api::Pod& gone, const SymbolTable& symbols) {
  FreedPorts freed;
  if (!framework::IsBoundOrNominated(gone)) return freed;
  cluster::AnyHostPort(gone, [&](const api::ContainerPort& port) {
    freed.ports.push_back({symbols.FindPort(port.protocol, port.host_port), port.host_ip});
    return false;
  });
  return freed;
}

// Whether one of the ports conflicts with one of `wanted`, which is ascending. This is evaluated for every
// waiting pod, and the other pod may have a hundred thousand ports: nothing is interned or allocated, and
// only the address of a port that both have is looked up.
bool Frees(const FreedPorts& freed, const std::vector<HostPort>& wanted, const SymbolTable& symbols) {
  if (wanted.empty()) return false;
  return std::ranges::any_of(freed.ports, [&](const FreedPorts::Port& port) {
    const auto same = std::ranges::equal_range(wanted, port.port, {}, &HostPort::port);
    if (same.empty()) return false;
    // Any address is the lowest id.
    if (port.address.empty() || same.front().address == cluster::kAnyAddress) return true;
    const AddressId address = symbols.addresses.Find(port.address);
    return address == cluster::kAnyAddress ||
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
  const auto after_removal = [this](const cluster::PodInfo& pod, const EventObjects& objects) {
    const auto freed =
        ComputeOnce<FreedPorts>(objects, [&] { return PortsOf(*objects.Before<api::Pod>(), symbols_); });
    return QueueIf(Frees(*freed, pod.use().ports, symbols_));
  };
  return {{EventResource::kAssignedPod, kDelete, after_removal}, {EventResource::kNode, kAdd}};
}

}  // namespace berth::plugins
