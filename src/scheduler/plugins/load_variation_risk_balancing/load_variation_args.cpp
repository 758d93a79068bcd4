#include "scheduler/plugins/load_variation_risk_balancing/load_variation_args.hpp"

namespace berth::plugins {
namespace {

using config::Value;

LoadVariationArgs DecodeLoadVariationArgs(const Value& value, const config::FeatureGates&,
                                          config::Problems& problems) {
  LoadVariationArgs args;
  config::StructReader reader(value, "LoadVariationRiskBalancingArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  ReadTrimaranArgs(reader, args.trimaran, problems);
  reader.Read("safeVarianceMargin", args.margin, "float64");
  reader.Read("safeVarianceSensitivity", args.sensitivity, "float64");
  reader.Finish();
  if (args.margin < 0) args.margin = 1;
  if (args.sensitivity < 0) args.sensitivity = 1;
  return args;
}

std::vector<std::string> Check(const LoadVariationArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  CheckTrimaranArgs(args.trimaran, path, errors);
  return errors;
}

Value Encode(const LoadVariationArgs& args) {
  Value out = Value::Map();
  WriteTrimaranArgs(args.trimaran, out);
  out.Set("safeVarianceMargin", Float64(args.margin));
  out.Set("safeVarianceSensitivity", Float64(args.sensitivity));
  return out;
}

}  // namespace

Expected<LoadVariationArgs> ParseLoadVariationArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeLoadVariationArgs, Check);
}

config::ArgsCodec LoadVariationArgsCodec() {
  auto codec = config::MakeArgsCodec<LoadVariationArgs>("LoadVariationRiskBalancingArgs",
                                                        DecodeLoadVariationArgs, Check, Encode);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
