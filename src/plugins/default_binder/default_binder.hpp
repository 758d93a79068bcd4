// Binds by the API server's pods/binding.
#pragma once

#include "framework/plugin.hpp"

namespace berth::plugins {

class DefaultBinder final : public framework::BindPlugin {
 public:
  explicit DefaultBinder(framework::Handle& handle) : api_(handle.api) {}
  std::string_view Name() const override { return "DefaultBinder"; }
  void Bind(const framework::PodInfo& pod, const std::string& node, Done done) override {
    const api::ObjectMeta& meta = pod.pod->metadata;
    api_.Bind({meta.ns, meta.name, meta.uid, node}, [done = std::move(done)](Expected<void> result) mutable {
      done(result ? framework::Status{} : framework::Status::Error(result.error().message));
    });
  }

 private:
  framework::ApiWriter& api_;
};

}  // namespace berth::plugins
