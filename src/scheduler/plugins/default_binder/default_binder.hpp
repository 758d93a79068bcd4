// Binds pods with the pods/binding subresource of the API server.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

class DefaultBinder final : public framework::BindPlugin {
 public:
  explicit DefaultBinder(framework::Handle& handle) : api_(handle.api) {}
  std::string_view Name() const override { return "DefaultBinder"; }
  bool StateIsDerived() const override { return true; }
  void Bind(const framework::Placement& placement, framework::StatusCallback answer) override {
    const api::ObjectMeta& meta = placement.pod.pod->metadata;
    api_.Bind({meta.ns, meta.name, meta.uid, placement.node},
              [answer = std::move(answer)](Expected<void> result) mutable {
                answer(result ? framework::Status{} : framework::Status::Error(result.error().message));
              });
  }

 private:
  ports::ApiWriter& api_;
};

}  // namespace berth::plugins
