#include "plugins/node_unschedulable/node_unschedulable.hpp"

#include <algorithm>

#include "api/selectors.hpp"

namespace berth::plugins {

NodeUnschedulable::NodeUnschedulable(framework::Handle& handle)
    : reason_(handle.reasons.Intern("node(s) were unschedulable")) {}

void NodeUnschedulable::Filter(const framework::Attempt& attempt, const RowSet&,
                               framework::Rejections& out) const {
  static const api::Taint kCordon{"node.kubernetes.io/unschedulable", "", "NoSchedule"};
  if (attempt.nodes().unschedulable().Empty()) return;
  const auto& tolerations = attempt.pod().pod->spec.tolerations;
  if (std::ranges::any_of(tolerations,
                          [](const auto& toleration) { return api::Tolerates(toleration, kCordon); }))
    return;
  out.Reject(reason_, attempt.nodes().rows()) |= attempt.nodes().unschedulable();
  out.unresolvable() |= attempt.nodes().unschedulable();
}

std::vector<framework::ClusterEvent> NodeUnschedulable::EventsToRegister() const {
  using namespace framework;
  return {{EventResource::kNode, kAdd | kUpdateNodeTaint}, {EventResource::kTargetPod, kUpdatePodToleration}};
}

}  // namespace berth::plugins
