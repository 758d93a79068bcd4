// Pods of a pod group (kube-scheduler v1.37.1 with the feature gate GenericWorkload, which is off by
// default).
#pragma once

#include <fmt/format.h>

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

// Berth does not schedule pod groups as a unit yet. With the feature gate, their pods stay pending with a
// reason; without it, the plugin does not exist and they are ordinary pods, as in kube-scheduler.
class GangScheduling final : public framework::PreFilterPlugin {
 public:
  explicit GangScheduling(framework::Handle&) {}

  std::string_view Name() const override { return "GangScheduling"; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override {
    const auto& group = attempt.pod().pod->spec.pod_group;
    if (!group) return {};
    return {framework::Status::Unresolvable(
                fmt::format("pod belongs to pod group {}: Berth does not place groups yet", *group)),
            std::nullopt};
  }
  // A pod cannot leave its group.
  std::vector<framework::EventRegistration> EventsToRegister() const override { return {}; }
};

}  // namespace berth::plugins
