// Rejects nodes where a host port that the pod wants is taken.
#pragma once

#include "framework/plugin.hpp"

namespace berth::plugins {

class NodePorts final : public framework::PreFilterPlugin, public framework::FilterPlugin {
 public:
  explicit NodePorts(framework::Handle& handle);
  std::string_view Name() const override { return "NodePorts"; }
  framework::PreFilterAnswer PreFilter(const framework::Attempt& attempt) const override;
  framework::Basis PreFilterBasis(const framework::PodInfo&) const override {
    return framework::Basis::kNodes;
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  framework::Basis FilterBasis(const framework::PodInfo&) const override { return framework::Basis::kRow; }
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  framework::Vocabulary& vocabulary_;
  framework::ReasonId reason_;
};

}  // namespace berth::plugins
