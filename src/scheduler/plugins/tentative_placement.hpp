// Placements of group members that their search takes back.
#pragma once

#include "kubernetes/api/pod.hpp"
#include "scheduler/cluster/pod_groups.hpp"

namespace berth::plugins {

// For observers of the node table. The search for a pod group places members and removes them again. When it
// has succeeded they are placed once more, and assumed in the group after the notification of OnPodAdded. So
// the answer is final when the pod is removed, and preliminary when it is added.
inline bool IsTentative(const cluster::PodGroups& groups, const api::Pod& pod) {
  if (!pod.spec.node_name.empty()) return false;
  const auto key = groups.KeyOf(pod);
  const cluster::PodGroups::Group* const group = key ? groups.Find(*key) : nullptr;
  if (group == nullptr) return false;
  const auto member = group->members.find(pod.metadata.uid);
  return member != group->members.end() && member->second.stage == cluster::PodGroups::Stage::kUnscheduled;
}

}  // namespace berth::plugins
