#include "plugins/node_ports/node_ports.hpp"

namespace berth::plugins {

NodePorts::NodePorts(framework::Handle& handle)
    : reason_(handle.reasons.Intern("node(s) didn't have free ports for the requested pod ports")) {}

framework::PreFilterAnswer NodePorts::PreFilter(const framework::Attempt& attempt) const {
  if (attempt.pod().use.ports.empty()) return {framework::Status::Skip(), std::nullopt};
  return {};
}

void NodePorts::Filter(const framework::Attempt& attempt, const RowSet&, framework::Rejections& out) const {
  RowSet& rejected = out.Reject(reason_, attempt.nodes().rows());
  for (const framework::HostPort& port : attempt.pod().use.ports)
    attempt.nodes().AddPortConflicts(port, rejected);
}

std::vector<framework::ClusterEvent> NodePorts::EventsToRegister() const {
  using namespace framework;
  return {{EventResource::kAssignedPod, kDelete}, {EventResource::kNode, kAdd}};
}

}  // namespace berth::plugins
