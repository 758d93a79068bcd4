#include "scheduler/plugins/node_name/node_name.hpp"

namespace berth::plugins {

NodeName::NodeName(framework::Handle& handle)
    : reason_(handle.reasons.Intern("node(s) didn't match the requested node name")) {}

framework::PreFilterResult NodeName::PreFilter(const framework::Attempt& attempt) const {
  framework::PreFilterResult answer;
  if (attempt.pod().node_name.known()) answer.nodes.emplace({attempt.pod().node_name});
  return answer;
}

void NodeName::Filter(const framework::Attempt& attempt, const RowSet& candidates,
                      framework::Rejections& out) const {
  const cluster::NodeNameId wanted = attempt.pod().node_name;
  if (!wanted.known()) return;
  RowSet& rejected = out.Reject(reason_, attempt.nodes().rows());
  rejected |= candidates;
  if (const cluster::Row row = attempt.nodes().Find(wanted); row != cluster::kNoRow) rejected.Remove(row);
  out.unresolvable() |= rejected;  // evicting pods does not change a node's name
}

std::vector<framework::EventRegistration> NodeName::EventsToRegister() const {
  return {{framework::EventResource::kNode, framework::kAdd}};
}

}  // namespace berth::plugins
