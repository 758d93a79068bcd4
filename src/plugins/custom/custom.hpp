// "custom": the name of a tutorial's plugin that prefers nodes whose processors are idle. Without
// measurements, which Berth does not take yet, it has no opinion.
#pragma once

#include "framework/plugin.hpp"

namespace berth::plugins {

class Custom final : public framework::FilterPlugin, public framework::ScorePlugin {
 public:
  explicit Custom(framework::Handle&) {}
  std::string_view Name() const override { return "custom"; }
  void Filter(const framework::Attempt&, const RowSet&, framework::Rejections&) const override {}
  framework::Status Score(const framework::Attempt&, const RowSet&, framework::ScoreColumn&) const override {
    return {};
  }
  // It rejects nobody.
  std::vector<framework::EventRegistration> EventsToRegister() const override { return {}; }
};

}  // namespace berth::plugins
