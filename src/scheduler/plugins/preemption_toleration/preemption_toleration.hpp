// Preemption under the tolerations of priority classes: scheduler-plugins' PreemptionToleration (v0.33.5).
// Off by default.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/eviction_protection.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/plugins/default_preemption/default_preemption.hpp"
#include "scheduler/plugins/preemption_toleration/tolerations.hpp"
#include "scheduler/plugins/retry_time.hpp"

namespace berth::plugins {

// Evicts pods as DefaultPreemption, which it replaces in a profile, but not those that the annotations of
// their PriorityClass protect. The protection applies to all preemptions of the profile. On a node with a pod
// whose class does not exist, preemption fails. Rejected pods are retried when a toleration ends and when a
// class changes. Differences from scheduler-plugins: docs/guide/preemption-policy.md.
class PreemptionToleration final : public framework::PostFilterPlugin,
                                   public framework::PodGroupPostFilterPlugin,
                                   public framework::PreEnqueuePlugin,
                                   public framework::EvictionProtectionPlugin,
                                   public framework::SavedStatePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  // `profile`: the schedulerName.
  PreemptionToleration(const DefaultPreemptionArgs& args, const std::string& profile,
                       framework::Handle& handle);

  std::string_view Name() const override { return "PreemptionToleration"; }
  framework::PostFilterResult PostFilter(const framework::Attempt& attempt,
                                         const framework::FilterOutcome& verdicts,
                                         framework::PostFilterServices& services) override {
    return preemption_.PostFilter(attempt, verdicts, services);
  }
  framework::GroupPostFilterResult PodGroupPostFilter(const framework::QueuedGroup& group,
                                                      framework::GroupPostFilterServices& services) override {
    return preemption_.PodGroupPostFilter(group, services);
  }
  framework::Status PreEnqueue(const cluster::PodInfo& pod) const override {
    return preemption_.PreEnqueue(pod);
  }
  std::vector<framework::EventRegistration> EventsToRegister() const override;
  framework::Status MayEvict(const framework::Preemptor& preemptor, const api::Pod& victim) override;
  Expected<framework::StateEncoder> SaveState() override;
  Expected<void> RestoreState(std::string_view text) override;
  std::size_t SavedTimers() const override { return retry_.timers(); }

 private:
  framework::Handle& handle_;
  DefaultPreemption preemption_;
  RetryTime retry_;
  const Tolerations tolerations_;
};

}  // namespace berth::plugins
