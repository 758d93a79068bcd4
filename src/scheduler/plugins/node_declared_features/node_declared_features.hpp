// Rejects nodes that do not declare the features that a pod requires (kube-scheduler v1.37.1).
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

class NodeDeclaredFeatures final : public framework::PreFilterPlugin, public framework::FilterPlugin {
 public:
  explicit NodeDeclaredFeatures(framework::Handle& handle);

  std::string_view Name() const override { return "NodeDeclaredFeatures"; }
  bool StateIsDerived() const override { return true; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo& pod) const override;
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  framework::ResultDependency FilterDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  const framework::ReasonId reason_;
  const framework::StateKey<std::vector<std::string_view>> required_key_;
};

}  // namespace berth::plugins
