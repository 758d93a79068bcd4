// Rejects every node except that of spec.nodeName.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

class NodeName final : public framework::PreFilterPlugin, public framework::FilterPlugin {
 public:
  explicit NodeName(framework::Handle& handle);
  std::string_view Name() const override { return "NodeName"; }
  bool StateIsDerived() const override { return true; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
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
