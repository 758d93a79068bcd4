#include "scheduler/plugins/node_unschedulable/node_unschedulable.hpp"

#include <algorithm>

#include "kubernetes/api/selectors.hpp"

namespace berth::plugins {

NodeUnschedulable::NodeUnschedulable(framework::Handle& handle)
    : reason_(handle.reasons.Intern("node(s) were unschedulable")) {}

namespace {

bool ToleratesCordon(const api::Pod& pod) {
  static const api::Taint kCordon{"node.kubernetes.io/unschedulable", "", "NoSchedule"};
  return std::ranges::any_of(pod.spec.tolerations,
                             [](const auto& toleration) { return api::Tolerates(toleration, kCordon); });
}

}  // namespace

void NodeUnschedulable::Filter(const framework::Attempt& attempt, const RowSet&,
                               framework::Rejections& out) const {
  if (attempt.nodes().unschedulable().Empty() || ToleratesCordon(*attempt.pod().pod)) return;
  out.Reject(reason_, attempt.nodes().rows()) |= attempt.nodes().unschedulable();
  out.unresolvable() |= attempt.nodes().unschedulable();
}

std::vector<framework::EventRegistration> NodeUnschedulable::EventsToRegister() const {
  using namespace framework;
  return {WhenNode(kAdd | kUpdateNodeTaint,
                   [](const cluster::PodInfo&, const api::Node* before, const api::Node* after) {
                     const bool was_closed = before == nullptr || before->unschedulable;
                     return framework::QueueIf(was_closed && !after->unschedulable);
                   }),
          WhenTargetPod(kUpdatePodToleration,
                        [](const cluster::PodInfo&, const api::Pod*, const api::Pod* after) {
                          return framework::QueueIf(ToleratesCordon(*after));
                        })};
}

}  // namespace berth::plugins
