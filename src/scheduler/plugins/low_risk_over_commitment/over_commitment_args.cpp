#include "scheduler/plugins/low_risk_over_commitment/over_commitment_args.hpp"

#include <fmt/format.h>

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;

constexpr double kDefaultWeight = 0.5;
constexpr std::int64_t kDefaultSmoothing = 5;

// Weights of other resources have no effect, as in scheduler-plugins, and are reported as unknown.
void ReadLimitWeights(const Value& weights, const std::string& path, OverCommitmentArgs& args,
                      Problems& problems) {
  StructReader reader(weights, "riskLimitWeights", path, problems);
  reader.Read("cpu", args.cpu_limit_weight, "float64");
  reader.Read("memory", args.memory_limit_weight, "float64");
  reader.Finish();
  for (double* weight : {&args.cpu_limit_weight, &args.memory_limit_weight}) {
    if (!(*weight >= 0 && *weight <= 1)) *weight = kDefaultWeight;
  }
}

OverCommitmentArgs DecodeOverCommitmentArgs(const Value& value, const config::FeatureGates&,
                                            Problems& problems) {
  OverCommitmentArgs args;
  StructReader reader(value, "LowRiskOverCommitmentArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  ReadTrimaranArgs(reader, args.trimaran, problems);
  reader.Read("smoothingWindowSize", args.smoothing_window);
  reader.With("riskLimitWeights", [&](const Value& weights, const std::string& path) {
    ReadLimitWeights(weights, path, args, problems);
  });
  reader.Finish();
  if (args.smoothing_window <= 0) args.smoothing_window = kDefaultSmoothing;
  return args;
}

std::vector<std::string> Check(const OverCommitmentArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  CheckTrimaranArgs(args.trimaran, path, errors);
  return errors;
}

Value Encode(const OverCommitmentArgs& args) {
  Value out = Value::Map();
  WriteTrimaranArgs(args.trimaran, out);
  out.Set("smoothingWindowSize", Value::Number(args.smoothing_window));
  Value weights = Value::Map();
  weights.Set("cpu", Float64(args.cpu_limit_weight));
  weights.Set("memory", Float64(args.memory_limit_weight));
  out.Set("riskLimitWeights", std::move(weights));
  return out;
}

}  // namespace

Expected<OverCommitmentArgs> ParseOverCommitmentArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeOverCommitmentArgs, Check);
}

config::ArgsCodec OverCommitmentArgsCodec() {
  auto codec = config::MakeArgsCodec<OverCommitmentArgs>("LowRiskOverCommitmentArgs",
                                                         DecodeOverCommitmentArgs, Check, Encode);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
