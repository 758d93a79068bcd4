#include "scheduler/plugins/node_ports/node_ports.hpp"

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>

#include "scheduler/cluster/prepare_pod.hpp"

namespace berth::plugins {

namespace {

// Whether the two pods cannot be on one node. A pod may have thousands of ports: not each with each.
bool Conflict(const std::vector<cluster::HostPort>& a, const std::vector<cluster::HostPort>& b) {
  boost::unordered_flat_set<cluster::HostPort> taken;
  boost::unordered_flat_set<cluster::PortId> in_use;  // at some address
  for (const cluster::HostPort& port : b) {
    taken.insert(port);
    in_use.insert(port.port);
  }
  return std::ranges::any_of(a, [&](const cluster::HostPort& port) {
    if (port.address == cluster::kAnyAddress) return in_use.contains(port.port);
    return taken.contains(port) || taken.contains({port.port, cluster::kAnyAddress});
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
                            cluster::SymbolScope scope(symbols_);
                            return IsBoundOrNominated(*gone) &&
                                           Conflict(pod.use().ports, HostPortsOf(*gone, scope))
                                       ? Hint::kQueue
                                       : Hint::kSkip;
                          }),
          {EventResource::kNode, kAdd}};
}

}  // namespace berth::plugins
