// Rejects nodes on which a host port of the pod is in use.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

class NodePorts final : public framework::PreFilterPlugin, public framework::FilterPlugin {
 public:
  explicit NodePorts(framework::Handle& handle);
  std::string_view Name() const override { return "NodePorts"; }
  bool StateIsDerived() const override { return true; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  framework::ResultDependency FilterDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kRow;
  }
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  const cluster::SymbolTable& symbols_;
  framework::ReasonId reason_;
};

}  // namespace berth::plugins
