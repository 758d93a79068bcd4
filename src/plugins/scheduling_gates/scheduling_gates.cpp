#include "plugins/scheduling_gates/scheduling_gates.hpp"

#include <fmt/ranges.h>

namespace berth::plugins {

framework::Status SchedulingGates::PreEnqueue(const api::Pod& pod) const {
  if (pod.spec.scheduling_gates.empty()) return {};
  return framework::Status::Unresolvable(
      fmt::format("waiting for scheduling gates: [{}]", fmt::join(pod.spec.scheduling_gates, " ")));
}

std::vector<framework::ClusterEvent> SchedulingGates::EventsToRegister() const {
  return {{framework::EventResource::kTargetPod, framework::kUpdatePodSchedulingGatesEliminated}};
}

}  // namespace berth::plugins
