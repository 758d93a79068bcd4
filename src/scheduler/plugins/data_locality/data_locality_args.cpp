#include "scheduler/plugins/data_locality/data_locality_args.hpp"

#include <fmt/format.h>

#include "config/name_errors.hpp"

namespace berth::plugins {
namespace {

using config::Value;

DataLocalityArgs DecodeDataLocalityArgs(const Value& value, const config::FeatureGates&,
                                        config::Problems& problems) {
  DataLocalityArgs args;
  config::StructReader reader(value, "DataLocalityArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("hostsAnnotation", args.hosts_annotation);
  reader.Read("claimsAnnotation", args.claims_annotation);
  reader.Read("hostsWeight", args.hosts_weight);
  reader.Read("volumesWeight", args.volumes_weight);
  reader.Read("zoneLabel", args.zone_label);
  reader.Read("zoneScore", args.zone_score);
  reader.Read("maxEntries", args.max_entries);
  reader.Finish();
  return args;
}

std::vector<std::string> Check(const DataLocalityArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  const auto name = [&](std::string_view field, const std::string& text) {
    if (!text.empty()) config::CheckQualifiedName(fmt::format("{}.{}", path, field), text, errors);
  };
  const auto range = [&](std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    errors.push_back(
        fmt::format("{}.{}: Invalid value: {}: must be between {} and {}", path, field, value, least, most));
  };
  name("hostsAnnotation", args.hosts_annotation);
  name("claimsAnnotation", args.claims_annotation);
  name("zoneLabel", args.zone_label);
  range("hostsWeight", args.hosts_weight, 0, 100);
  range("volumesWeight", args.volumes_weight, 0, 100);
  if (args.hosts_weight == 0 && args.volumes_weight == 0)
    errors.push_back(path + ".hostsWeight: Invalid value: 0: one of the weights must be greater than zero");
  range("zoneScore", args.zone_score, 0, 100);
  range("maxEntries", args.max_entries, 1, kMostEntries);
  return errors;
}

Value Encode(const DataLocalityArgs& args) {
  Value out = Value::Map();
  out.Set("hostsAnnotation", Value::Text(args.hosts_annotation));
  out.Set("claimsAnnotation", Value::Text(args.claims_annotation));
  out.Set("hostsWeight", Value::Number(args.hosts_weight));
  out.Set("volumesWeight", Value::Number(args.volumes_weight));
  out.Set("zoneLabel", Value::Text(args.zone_label));
  out.Set("zoneScore", Value::Number(args.zone_score));
  out.Set("maxEntries", Value::Number(args.max_entries));
  return out;
}

}  // namespace

Expected<DataLocalityArgs> ParseDataLocalityArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeDataLocalityArgs, Check);
}

config::ArgsCodec DataLocalityArgsCodec() {
  auto codec =
      config::MakeArgsCodec<DataLocalityArgs>("DataLocalityArgs", DecodeDataLocalityArgs, Check, Encode);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
