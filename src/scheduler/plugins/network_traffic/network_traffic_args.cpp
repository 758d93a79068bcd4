#include "scheduler/plugins/network_traffic/network_traffic_args.hpp"

#include <fmt/format.h>

#include "scheduler/plugins/load_metrics/prometheus_args.hpp"

namespace berth::plugins {
namespace {

using config::Value;

NetworkTrafficArgs DecodeNetworkTrafficArgs(const Value& value, const config::FeatureGates&,
                                            config::Problems& problems) {
  NetworkTrafficArgs args;
  config::StructReader reader(value, "NetworkTrafficArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  for (const auto* name : {"prometheusAddress", "ip"}) reader.Read(name, args.prometheus_address);
  for (const auto* name : {"networkInterface", "deviceName", "device_name"})
    reader.Read(name, args.network_interface);
  for (const auto* name : {"timeRangeInMinutes", "timeRange", "time_range"})
    reader.Read(name, args.time_range_in_minutes);
  std::string mode;
  reader.Read("mode", mode);
  if (mode == "classic") {
    args.mode = NetworkTrafficArgs::Mode::kClassic;
  } else if (!mode.empty() && mode != "rate") {
    problems.Other(
        fmt::format("mode: Unsupported value: \"{}\": supported values: \"rate\", \"classic\"", mode));
  }
  reader.Finish();
  if (args.network_interface.empty()) args.network_interface = "ens192";
  return args;
}

std::vector<std::string> Check(const NetworkTrafficArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  CheckSource(args.prometheus_address, path + ".prometheusAddress", errors);
  if (args.time_range_in_minutes <= 0) {
    errors.push_back(fmt::format("{}.timeRangeInMinutes: Invalid value: {}: must be greater than zero", path,
                                 args.time_range_in_minutes));
  }
  return errors;
}

Value Encode(const NetworkTrafficArgs& args) {
  Value out = Value::Map();
  out.Set("prometheusAddress", Value::Text(args.prometheus_address));
  out.Set("networkInterface", Value::Text(args.network_interface));
  out.Set("timeRangeInMinutes", Value::Number(args.time_range_in_minutes));
  out.Set("mode", Value::Text(args.mode == NetworkTrafficArgs::Mode::kClassic ? "classic" : "rate"));
  return out;
}

}  // namespace

Expected<NetworkTrafficArgs> ParseNetworkTrafficArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeNetworkTrafficArgs, Check);
}

config::ArgsCodec NetworkTrafficArgsCodec() {
  auto codec = config::MakeArgsCodec<NetworkTrafficArgs>("NetworkTrafficArgs", DecodeNetworkTrafficArgs,
                                                         Check, Encode);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
