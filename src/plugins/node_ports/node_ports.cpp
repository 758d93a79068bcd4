#include "plugins/node_ports/node_ports.hpp"

#include <algorithm>

namespace berth::plugins {

namespace {

bool Collide(const std::vector<framework::HostPort>& a, const std::vector<framework::HostPort>& b) {
  return std::ranges::any_of(a, [&](const framework::HostPort& x) {
    return std::ranges::any_of(b, [&](const framework::HostPort& y) {
      return x.port == y.port && (x.address == y.address || x.address == framework::kAnyAddress ||
                                  y.address == framework::kAnyAddress);
    });
  });
}

}  // namespace

NodePorts::NodePorts(framework::Handle& handle)
    : vocabulary_(handle.vocabulary),
      reason_(handle.reasons.Intern("node(s) didn't have free ports for the requested pod ports")) {}

framework::PreFilterAnswer NodePorts::PreFilter(const framework::Attempt& attempt) const {
  if (attempt.pod().use().ports.empty()) return {framework::Status::Skip(), std::nullopt};
  return {};
}

void NodePorts::Filter(const framework::Attempt& attempt, const RowSet&, framework::Rejections& out) const {
  RowSet& rejected = out.Reject(reason_, attempt.nodes().rows());
  for (const framework::HostPort& port : attempt.pod().use().ports)
    attempt.nodes().AddPortConflicts(port, rejected);
}

std::vector<framework::EventRegistration> NodePorts::EventsToRegister() const {
  using namespace framework;
  return {WhenAssignedPod(kDelete,
                          [this](const PodInfo& pod, const api::Pod* gone, const api::Pod*) {
                            return HasPlace(*gone) && Collide(pod.use().ports, HostPortsOf(*gone, vocabulary_))
                                       ? Hint::kQueue
                                       : Hint::kSkip;
                          }),
          {EventResource::kNode, kAdd}};
}

}  // namespace berth::plugins
