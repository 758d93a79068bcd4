// A plugin at three extension points that only logs, at -v=3.
#pragma once

#include <fmt/format.h>

#include "observability/log/log.hpp"
#include "scheduler/framework/one_node.hpp"
#include "scheduler/framework/typed_args.hpp"

namespace sample {

namespace framework = berth::framework;

struct SampleArgs {
  std::string favorite_color = "#326CE5";
  std::int64_t favorite_number = 7;
  std::string thanks_to;

  static constexpr std::string_view kKind = "SamplePluginArgs";
  static auto Fields() {
    using framework::Field;
    return std::tuple(Field("favorite_color", &SampleArgs::favorite_color),
                      Field("favorite_number", &SampleArgs::favorite_number),
                      Field("thanks_to", &SampleArgs::thanks_to));
  }
  std::vector<std::string> Validate() const {
    if (favorite_color.starts_with('#')) return {};
    return {fmt::format("favorite_color: Invalid value: \"{}\": must begin with #", favorite_color)};
  }
};

class SamplePlugin final : public framework::PreFilterPlugin,
                           public framework::OneNodeFilterPlugin,
                           public framework::BlockingPreBindPlugin {
 public:
  static constexpr std::string_view kName = "sample-plugin";
  using Args = SampleArgs;

  SamplePlugin(const Args& args, framework::Handle& handle) : framework::BlockingPreBindPlugin(handle) {
    if (const auto log = berth::log::V(3)) {
      log.Info(fmt::format("get plugin config args: &{{FavoriteColor:{} FavoriteNumber:{} ThanksTo:{}}}",
                           args.favorite_color, args.favorite_number, args.thanks_to));
    }
  }

  std::string_view Name() const override { return kName; }

  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override {
    if (const auto log = berth::log::V(3))
      log.Info(fmt::format("prefilter pod: {}", attempt.pod().pod->metadata.name));
    return {};
  }
  framework::Status FilterNode(const framework::Attempt& attempt,
                               const framework::NodeView& node) const override {
    if (const auto log = berth::log::V(3))
      log.Info(fmt::format("filter pod: {}, node: {}", attempt.pod().pod->metadata.name, node.name()));
    return {};
  }
  framework::Status PreBindNow(const framework::Placement& placement, std::stop_token) override {
    if (const auto log = berth::log::V(3)) log.Info(fmt::format("prebind node info: {}", placement.node));
    return {};
  }
  // It rejects no pod, so no event is relevant.
  std::vector<framework::EventRegistration> EventsToRegister() const override { return {}; }
};

}  // namespace sample
