#include "scheduler/plugins/inter_pod_affinity/affinity_args.hpp"

#include <fmt/format.h>

namespace berth::plugins {
namespace {

using config::Value;

InterPodAffinityArgs DecodeInterPodAffinityArgs(const Value& value, const config::FeatureGates&,
                                                config::Problems& problems) {
  InterPodAffinityArgs args;
  config::StructReader reader(value, "InterPodAffinityArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("hardPodAffinityWeight", args.hard_pod_affinity_weight, "int32");
  reader.Read("ignorePreferredTermsOfExistingPods", args.ignore_preferred_terms_of_existing_pods);
  reader.Finish();
  return args;
}

std::vector<std::string> Check(const InterPodAffinityArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  if (args.hard_pod_affinity_weight >= 0 && args.hard_pod_affinity_weight <= 100) return {};
  return {fmt::format("{}.hardPodAffinityWeight: Invalid value: {}: not in valid range [0, 100]", path,
                      args.hard_pod_affinity_weight)};
}

Value Encode(const InterPodAffinityArgs& args) {
  Value out = Value::Map();
  out.Set("hardPodAffinityWeight", Value::Number(args.hard_pod_affinity_weight));
  out.Set("ignorePreferredTermsOfExistingPods", Value::Bool(args.ignore_preferred_terms_of_existing_pods));
  return out;
}

}  // namespace

Expected<InterPodAffinityArgs> ParseInterPodAffinityArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeInterPodAffinityArgs, Check);
}

config::ArgsCodec InterPodAffinityArgsCodec() {
  return config::MakeArgsCodec<InterPodAffinityArgs>("InterPodAffinityArgs", DecodeInterPodAffinityArgs,
                                                     Check, Encode);
}

}  // namespace berth::plugins
