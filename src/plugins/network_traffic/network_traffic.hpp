// NetworkTraffic: prefers nodes whose network interface carries less. Without measurements, which Berth does
// not take yet, it has no opinion.
#pragma once

#include <string>

#include "framework/plugin.hpp"
#include "plugins/network_traffic/network_traffic_args.hpp"

namespace berth::plugins {

class NetworkTraffic final : public framework::ScorePlugin {
 public:
  // The plugin goes by several names.
  static framework::Factory Factory(std::string name) {
    return [name](const framework::RawArgs& raw, framework::Handle&) -> framework::Made {
      BERTH_CHECKED(ParseNetworkTrafficArgs(raw));
      return std::make_unique<NetworkTraffic>(name);
    };
  }
  explicit NetworkTraffic(std::string name) : name_(std::move(name)) {}

  std::string_view Name() const override { return name_; }
  framework::Status Score(const framework::Attempt&, const RowSet&, framework::ScoreColumn&) const override {
    return {};
  }

 private:
  const std::string name_;
};

}  // namespace berth::plugins
