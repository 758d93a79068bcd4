// Prefers nodes that already have the pod's images, weighted by image size and spread.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

class ImageLocality final : public framework::ScorePlugin {
 public:
  explicit ImageLocality(framework::Handle&) {}
  std::string_view Name() const override { return "ImageLocality"; }
  bool StateIsDerived() const override { return true; }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  framework::ResultDependency ScoreDependency(const cluster::PodInfo&) const override {
    return framework::ResultDependency::kNodes;
  }
  framework::Normalization normalization() const override { return framework::Normalization::kNone; }
};

}  // namespace berth::plugins
