// Rejects cordoned nodes, unless the pod tolerates the taint node.kubernetes.io/unschedulable.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

class NodeUnschedulable final : public framework::FilterPlugin {
 public:
  explicit NodeUnschedulable(framework::Handle& handle);
  std::string_view Name() const override { return "NodeUnschedulable"; }
  bool StateIsDerived() const override { return true; }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  framework::ResultDependency FilterDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  framework::ReasonId reason_;
};

}  // namespace berth::plugins
