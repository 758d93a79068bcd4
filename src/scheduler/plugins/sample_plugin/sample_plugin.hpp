// "sample-plugin", a tutorial's demonstration of extension points: it accepts all nodes and logs (-v=3).
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::plugins {

struct SamplePluginArgs {
  std::string favorite_color;
  std::int64_t favorite_number = 0;
  std::string thanks_to;
};

Expected<SamplePluginArgs> ParseSamplePluginArgs(const framework::RawArgs& raw);
config::ArgsCodec SamplePluginArgsCodec();

class SamplePlugin final : public framework::PreFilterPlugin,
                           public framework::FilterPlugin,
                           public framework::PreBindPlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  std::string_view Name() const override { return "sample-plugin"; }
  // There is none.
  bool StateIsDerived() const override { return true; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  PreFlight PreBindPreFlight(const framework::Placement&) override { return {}; }
  void PreBind(const framework::Placement& placement, std::stop_token stop,
               framework::StatusCallback answer) override;
  // The plugin rejects no pod.
  std::vector<framework::EventRegistration> EventsToRegister() const override { return {}; }
};

}  // namespace berth::plugins
