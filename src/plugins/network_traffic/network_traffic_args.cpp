#include "plugins/network_traffic/network_traffic_args.hpp"

#include <fmt/format.h>

namespace berth::plugins {
namespace {

using config::Value;

NetworkTrafficArgs Decode(const Value& value, const config::FeatureGates&, config::Problems& problems) {
  NetworkTrafficArgs args;
  config::StructReader reader(value, "NetworkTrafficArgs", "", problems);
  framework::TakeTypeMeta(reader);
  for (const auto* name : {"prometheusAddress", "ip"}) reader.Read(name, args.prometheus_address);
  for (const auto* name : {"networkInterface", "deviceName", "device_name"})
    reader.Read(name, args.network_interface);
  for (const auto* name : {"timeRangeInMinutes", "timeRange", "time_range"})
    reader.Read(name, args.time_range_in_minutes);
  reader.Finish();
  if (args.network_interface.empty()) args.network_interface = "ens192";
  return args;
}

std::vector<std::string> Check(const NetworkTrafficArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  const std::string& address = args.prometheus_address;
  if (address.empty()) {
    errors.push_back(
        fmt::format("{}.prometheusAddress: Required value: must be the URL of a Prometheus server, like "
                    "http://prometheus-server.monitoring:9090",
                    path));
  } else if (!address.starts_with("http://") && !address.starts_with("https://")) {
    errors.push_back(fmt::format(
        "{}.prometheusAddress: Invalid value: \"{}\": must begin with http:// or https://", path, address));
  }
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
  return out;
}

}  // namespace

Expected<NetworkTrafficArgs> ParseNetworkTrafficArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, Decode, Check);
}

config::ArgsCodec NetworkTrafficArgsCodec() {
  auto codec = config::MakeArgsCodec<NetworkTrafficArgs>("NetworkTrafficArgs", Decode, Check, Encode);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
