// Keeps a pod out of activeQ while it has scheduling gates.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

class SchedulingGates final : public framework::PreEnqueuePlugin {
 public:
  explicit SchedulingGates(framework::Handle&) {}
  std::string_view Name() const override { return "SchedulingGates"; }
  bool StateIsDerived() const override { return true; }
  framework::Status PreEnqueue(const cluster::PodInfo& pod) const override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;
};

}  // namespace berth::plugins
