// DynamicResources for pods without resource claims, as in kube-scheduler v1.37.1. Berth does not allocate
// devices yet: pods that need devices stay pending, and their FailedScheduling event contains the reason.
#pragma once

#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/filter_outcome.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

// Checks DynamicResourcesArgs (kubescheduler.config.k8s.io/v1) strictly, with kube-scheduler's error texts.
// The values have no effect while devices are not allocated.
Expected<void> CheckDynamicResourcesArgs(const framework::RawArgs& args, const config::FeatureGates& gates);
config::ArgsCodec DynamicResourcesArgsCodec();

class DynamicResources final : public framework::PreFilterPlugin,
                               public framework::FilterPlugin,
                               public framework::PostFilterPlugin,
                               public framework::ScorePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& args, framework::Handle& handle);
  explicit DynamicResources(framework::Handle& handle);

  std::string_view Name() const override { return "DynamicResources"; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  // Never called, because PreFilter returns Skip or rejects the pod.
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  framework::PostFilterResult PostFilter(const framework::Attempt& attempt,
                                         const framework::FilterOutcome& verdicts,
                                         framework::PostFilterServices& services) override;
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  // Only pods without claims reach Score.
  framework::ResultDependency ScoreDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  framework::Normalization normalization() const override { return framework::Normalization::kNone; }
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  const api::DeviceClass* DeviceClassOf(cluster::ResourceId resource) const;

  const cluster::ClusterObjects& objects_;
  const cluster::SymbolTable& symbols_;
  const bool extended_resources_;
  const framework::StateKey<bool> seen_key_;  // set if PreFilter was called in this attempt
};

}  // namespace berth::plugins
