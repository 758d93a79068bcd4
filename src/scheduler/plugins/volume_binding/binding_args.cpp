#include "scheduler/plugins/volume_binding/binding_args.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::plugins {
namespace {

using config::Value;

VolumeBindingArgs DecodeVolumeBindingArgs(const Value& value, const config::FeatureGates& gates,
                                          config::Problems& problems) {
  VolumeBindingArgs args;
  config::StructReader reader(value, "VolumeBindingArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("bindTimeoutSeconds", args.bind_timeout_seconds);
  args.has_shape = reader.Has("shape");
  args.shape = ReadShape(reader, problems);
  reader.Finish();
  if (gates.Enabled("StorageCapacityScoring") && args.shape.empty()) args.shape = {{0, 10}, {100, 0}};
  return args;
}

std::vector<std::string> Check(const VolumeBindingArgs& args, const std::string& path,
                               const config::FeatureGates& gates) {
  std::vector<std::string> errors;
  if (args.bind_timeout_seconds < 0) {
    errors.push_back(
        fmt::format("{}.bindTimeoutSeconds: Invalid value: {}: invalid BindTimeoutSeconds, should not be "
                    "a negative value",
                    path, args.bind_timeout_seconds));
  }
  if (gates.Enabled("StorageCapacityScoring")) {
    CheckShape(args.shape, path + ".shape", errors);
  } else if (args.has_shape) {
    std::vector<std::string> points;
    for (const ShapePoint& point : args.shape)
      points.push_back(fmt::format("{{\"Utilization\":{},\"Score\":{}}}", point.utilization, point.score));
    errors.push_back(
        fmt::format("{}.shape: Invalid value: [{}]: unexpected field `shape`, remove it or turn on the "
                    "feature gate StorageCapacityScoring",
                    path, fmt::join(points, ",")));
  }
  return errors;
}

Value Encode(const VolumeBindingArgs& args) {
  Value out = Value::Map();
  out.Set("bindTimeoutSeconds", Value::Number(args.bind_timeout_seconds));
  if (args.has_shape || !args.shape.empty()) out.Set("shape", WriteShape(args.shape));
  return out;
}

}  // namespace

Expected<VolumeBindingArgs> ParseVolumeBindingArgs(const framework::RawArgs& raw,
                                                   const config::FeatureGates& gates) {
  return framework::ParseArgs(raw, gates, DecodeVolumeBindingArgs, Check);
}

config::ArgsCodec VolumeBindingArgsCodec() {
  return config::MakeArgsCodec<VolumeBindingArgs>("VolumeBindingArgs", DecodeVolumeBindingArgs, Check,
                                                  Encode);
}

}  // namespace berth::plugins
