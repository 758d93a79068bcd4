#include "scheduler/plugins/scheduling_gates/scheduling_gates.hpp"

#include <fmt/ranges.h>

namespace berth::plugins {

framework::Status SchedulingGates::PreEnqueue(const cluster::PodInfo& pod) const {
  const auto& gates = pod.pod->spec.scheduling_gates;
  if (gates.empty()) return {};
  return framework::Status::Unresolvable(
      fmt::format("waiting for scheduling gates: [{}]", fmt::join(gates, " ")));
}

std::vector<framework::EventRegistration> SchedulingGates::EventsToRegister() const {
  return {{framework::EventResource::kTargetPod, framework::kUpdatePodSchedulingGatesEliminated}};
}

}  // namespace berth::plugins
