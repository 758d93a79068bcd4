#include "scheduler/plugins/target_load_packing/target_load_packing_args.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "kubernetes/api/quantity.hpp"

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;

constexpr std::int64_t kDefaultTarget = 40;

// Of the amounts only that of cpu is used.
void ReadDefaultRequests(const Value& requests, const std::string& path, TargetLoadPackingArgs& args,
                         Problems& problems) {
  args.default_request_milli_cpu = 0;
  for (const auto& [resource, amount] : requests.members) {
    const auto quantity = api::Quantity::Parse(amount.text);
    if (!quantity) {
      problems.Other(fmt::format("{}.{}: Invalid value: \"{}\": {}", path, resource, amount.text,
                                 quantity.error().message));
    } else if (resource == "cpu") {
      args.default_request_milli_cpu = quantity->MilliValue();
    }
  }
}

// A decimal number; NaN for other texts, which Check reports.
double MultiplierOf(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc{} && parsed.ptr == end ? value : load_metrics::kNoValue;
}

TargetLoadPackingArgs DecodeTargetLoadPackingArgs(const Value& value, const config::FeatureGates&,
                                                  Problems& problems) {
  TargetLoadPackingArgs args;
  StructReader reader(value, "TargetLoadPackingArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  ReadTrimaranArgs(reader, args.trimaran, problems);
  reader.With(
      "defaultRequests",
      [&](const Value& requests, const std::string& path) {
        ReadDefaultRequests(requests, path, args, problems);
      },
      "v1.ResourceList");
  std::string multiplier = "1.5";
  reader.Read("defaultRequestsMultiplier", multiplier);
  args.request_multiplier = MultiplierOf(multiplier);
  reader.Read("targetUtilization", args.target_utilization);
  reader.Finish();
  if (args.target_utilization <= 0) args.target_utilization = kDefaultTarget;
  return args;
}

std::vector<std::string> Check(const TargetLoadPackingArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  CheckTrimaranArgs(args.trimaran, path, errors);
  if (args.default_request_milli_cpu < 0)
    errors.push_back(path + ".defaultRequests.cpu: Invalid value: must not be negative");
  if (!(args.request_multiplier >= 0) || std::isinf(args.request_multiplier))
    errors.push_back(path +
                     ".defaultRequestsMultiplier: Invalid value: must be a decimal number that is not "
                     "negative, in quotes");
  if (args.target_utilization > 100) {
    errors.push_back(fmt::format("{}.targetUtilization: Invalid value: {}: must be at most 100", path,
                                 args.target_utilization));
  }
  return errors;
}

Value Encode(const TargetLoadPackingArgs& args) {
  Value out = Value::Map();
  WriteTrimaranArgs(args.trimaran, out);
  Value requests = Value::Map();
  requests.Set("cpu", Value::Text(api::Quantity::FromMilli(args.default_request_milli_cpu).Canonical()));
  out.Set("defaultRequests", std::move(requests));
  out.Set("defaultRequestsMultiplier", Value::Text(fmt::format("{}", args.request_multiplier)));
  out.Set("targetUtilization", Value::Number(args.target_utilization));
  return out;
}

}  // namespace

Expected<TargetLoadPackingArgs> ParseTargetLoadPackingArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeTargetLoadPackingArgs, Check);
}

config::ArgsCodec TargetLoadPackingArgsCodec() {
  auto codec = config::MakeArgsCodec<TargetLoadPackingArgs>("TargetLoadPackingArgs",
                                                            DecodeTargetLoadPackingArgs, Check, Encode);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
