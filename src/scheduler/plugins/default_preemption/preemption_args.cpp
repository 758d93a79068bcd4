#include "scheduler/plugins/default_preemption/preemption_args.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::plugins {
namespace {

using config::Value;

DefaultPreemptionArgs Decode(const Value& value, const char* kind, config::Problems& problems) {
  DefaultPreemptionArgs args;
  config::StructReader reader(value, kind, "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("minCandidateNodesPercentage", args.min_candidate_nodes_percentage, "int32");
  reader.Read("minCandidateNodesAbsolute", args.min_candidate_nodes_absolute, "int32");
  reader.Finish();
  return args;
}

DefaultPreemptionArgs DecodeDefaultPreemptionArgs(const Value& value, const config::FeatureGates&,
                                                  config::Problems& problems) {
  return Decode(value, "DefaultPreemptionArgs", problems);
}

DefaultPreemptionArgs DecodePreemptionTolerationArgs(const Value& value, const config::FeatureGates&,
                                                     config::Problems& problems) {
  return Decode(value, "PreemptionTolerationArgs", problems);
}

std::vector<std::string> Check(const DefaultPreemptionArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  const auto wrong = [&](const char* field, std::int64_t value, const char* why) {
    errors.push_back(fmt::format("{}.{}: Invalid value: {}: {}", path, field, value, why));
  };
  const std::int64_t percentage = args.min_candidate_nodes_percentage;
  const std::int64_t absolute = args.min_candidate_nodes_absolute;
  if (percentage < 0 || percentage > 100)
    wrong("minCandidateNodesPercentage", percentage, "not in valid range [0, 100]");
  if (absolute < 0) wrong("minCandidateNodesAbsolute", absolute, "not in valid range [0, inf)");
  if (percentage == 0 && absolute == 0) {
    wrong("minCandidateNodesPercentage", 0, "cannot be zero at the same time as minCandidateNodesAbsolute");
    wrong("minCandidateNodesAbsolute", 0, "cannot be zero at the same time as minCandidateNodesPercentage");
  }
  return errors;
}

Value Encode(const DefaultPreemptionArgs& args) {
  Value out = Value::Map();
  out.Set("minCandidateNodesPercentage", Value::Number(args.min_candidate_nodes_percentage));
  out.Set("minCandidateNodesAbsolute", Value::Number(args.min_candidate_nodes_absolute));
  return out;
}

}  // namespace

std::size_t DefaultPreemptionArgs::Wanted(std::size_t nodes) const {
  const auto all = static_cast<std::int64_t>(nodes);
  const std::int64_t share = all * min_candidate_nodes_percentage / 100;
  return static_cast<std::size_t>(std::min(std::max(share, min_candidate_nodes_absolute), all));
}

Expected<DefaultPreemptionArgs> ParseDefaultPreemptionArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeDefaultPreemptionArgs, Check);
}

config::ArgsCodec DefaultPreemptionArgsCodec() {
  return config::MakeArgsCodec<DefaultPreemptionArgs>("DefaultPreemptionArgs", DecodeDefaultPreemptionArgs,
                                                      Check, Encode);
}

Expected<DefaultPreemptionArgs> ParsePreemptionTolerationArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodePreemptionTolerationArgs, Check);
}

config::ArgsCodec PreemptionTolerationArgsCodec() {
  auto codec = config::MakeArgsCodec<DefaultPreemptionArgs>("PreemptionTolerationArgs",
                                                            DecodePreemptionTolerationArgs, Check, Encode);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
