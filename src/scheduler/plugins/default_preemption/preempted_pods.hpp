// Pods that are terminating because of a preemption.
#pragma once

#include <algorithm>

#include "kubernetes/api/pod.hpp"

namespace berth::plugins {

inline bool IsBeingPreempted(const api::Pod& pod) {
  if (!pod.metadata.deleting()) return false;
  const auto& conditions = pod.status.conditions;
  const auto found = std::ranges::find(conditions, "DisruptionTarget", &api::PodCondition::type);
  return found != conditions.end() && found->status == "True" && found->reason == "PreemptionByScheduler";
}

}  // namespace berth::plugins
