#include <fmt/format.h>

#include "base/go_duration.hpp"
#include "config/duration.hpp"
#include "scheduler/plugins/dynamic_resources/dynamic_resources.hpp"

namespace berth::plugins {
namespace {

using config::FeatureGates;
using config::Value;

bool BindingTimeoutCounts(const FeatureGates& gates) {
  return gates.Enabled("DRADeviceBindingConditions") && gates.Enabled("DRAResourceClaimDeviceStatus");
}

DynamicResourcesArgs DecodeDynamicResourcesArgs(const Value& value, const FeatureGates& gates,
                                                config::Problems& problems) {
  DynamicResourcesArgs args;
  config::StructReader reader(value, "DynamicResourcesArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  const auto read = [&](std::string_view name, std::optional<Duration>& out) {
    std::chrono::nanoseconds duration{};
    if (config::ReadDuration(reader, name, duration, problems)) out = duration;
  };
  read("filterTimeout", args.filter_timeout);
  read("bindingTimeout", args.binding_timeout);
  reader.Finish();
  if (!args.filter_timeout && gates.Enabled("DRASchedulerFilterTimeout"))
    args.filter_timeout = std::chrono::seconds(10);
  if (!args.binding_timeout && BindingTimeoutCounts(gates)) args.binding_timeout = std::chrono::seconds(600);
  return args;
}

std::vector<std::string> Check(const DynamicResourcesArgs& args, const std::string& path,
                               const FeatureGates& gates) {
  std::vector<std::string> errors;
  if (args.filter_timeout && !gates.Enabled("DRASchedulerFilterTimeout")) {
    errors.push_back(fmt::format(
        "{}.filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled", path));
  } else if (args.filter_timeout && args.filter_timeout->count() < 0) {
    errors.push_back(fmt::format("{}.filterTimeout: Invalid value: \"{}\": must be zero or positive", path,
                                 FormatGoDuration(*args.filter_timeout)));
  }
  if (args.binding_timeout && !BindingTimeoutCounts(gates)) {
    errors.push_back(
        fmt::format("{}.bindingTimeout: Forbidden: DRADeviceBindingConditions or "
                    "DRAResourceClaimDeviceStatus feature gate is disabled",
                    path));
  } else if (args.binding_timeout && *args.binding_timeout < std::chrono::seconds(1)) {
    errors.push_back(fmt::format("{}.bindingTimeout: Invalid value: \"{}\": must be at least 1 second", path,
                                 FormatGoDuration(*args.binding_timeout)));
  }
  return errors;
}

Value Encode(const DynamicResourcesArgs& args) {
  Value out = Value::Map();
  out.Set("filterTimeout",
          args.filter_timeout ? Value::Text(FormatGoDuration(*args.filter_timeout)) : Value::Null());
  if (args.binding_timeout) out.Set("bindingTimeout", Value::Text(FormatGoDuration(*args.binding_timeout)));
  return out;
}

}  // namespace

Expected<DynamicResourcesArgs> ParseDynamicResourcesArgs(const framework::RawArgs& raw,
                                                         const FeatureGates& gates) {
  return framework::ParseArgs(raw, gates, DecodeDynamicResourcesArgs, Check);
}

config::ArgsCodec DynamicResourcesArgsCodec() {
  return config::MakeArgsCodec<DynamicResourcesArgs>("DynamicResourcesArgs", DecodeDynamicResourcesArgs,
                                                     Check, Encode);
}

}  // namespace berth::plugins
