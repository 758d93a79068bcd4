#include "scheduler/plugins/node_resources/resource_args.hpp"

#include <fmt/format.h>

#include <set>

#include "config/name_errors.hpp"

namespace berth::plugins {
namespace {

using config::FeatureGates;
using config::Problems;
using config::StructReader;
using config::Value;

std::vector<WeightedResource> ReadResources(StructReader& reader, Problems& problems) {
  std::vector<WeightedResource> resources;
  reader.Each(
      "resources",
      [&](const Value& item, const std::string& path) {
        WeightedResource& resource = resources.emplace_back(WeightedResource{"", 0});
        StructReader fields(item, "ResourceSpec", path, problems);
        fields.Read("name", resource.name);
        fields.Read("weight", resource.weight);
        fields.Finish();
        if (resource.weight == 0) resource.weight = 1;
      },
      "v1.ResourceSpec");
  if (resources.empty()) resources = {{"cpu", 1}, {"memory", 1}};
  return resources;
}

void ReadStrategy(const Value& value, const std::string& path, NodeResourcesFitArgs& args,
                  Problems& problems) {
  args.strategy_type.clear();  // if the object is given, its type has no default
  StructReader reader(value, "ScoringStrategy", path, problems);
  reader.Read("type", args.strategy_type, "v1.ScoringStrategyType");
  args.resources = ReadResources(reader, problems);
  reader.With(
      "requestedToCapacityRatio",
      [&](const Value& ratio, const std::string& ratio_path) {
        args.has_ratio = true;
        StructReader fields(ratio, "RequestedToCapacityRatioParam", ratio_path, problems);
        args.shape = ReadShape(fields, problems);
        fields.Finish();
      },
      "v1.RequestedToCapacityRatioParam");
  reader.Finish();
}

void CheckIgnored(const NodeResourcesFitArgs& args, std::vector<std::string>& errors) {
  for (std::size_t i = 0; i < args.ignored_resources.size(); ++i)
    config::CheckQualifiedName(fmt::format("ignoredResources[{}]", i), args.ignored_resources[i], errors);
  for (std::size_t i = 0; i < args.ignored_resource_groups.size(); ++i) {
    const std::string& group = args.ignored_resource_groups[i];
    const std::string path = fmt::format("ignoredResourceGroups[{}]", i);
    if (group.find('/') != std::string::npos) {
      errors.push_back(
          fmt::format("{}: Invalid value: \"{}\": resource group name can't contain '/'", path, group));
    }
    config::CheckQualifiedName(path, group, errors);
  }
}

constexpr std::string_view kRatio = "RequestedToCapacityRatio";

void CheckStrategy(const NodeResourcesFitArgs& args, std::vector<std::string>& errors) {
  const std::string& type = args.strategy_type;
  if (type != "LeastAllocated" && type != "MostAllocated" && type != kRatio) {
    errors.push_back(
        fmt::format("scoringStrategy.type: Unsupported value: \"{}\": supported values: \"LeastAllocated\", "
                    "\"MostAllocated\", \"RequestedToCapacityRatio\"",
                    type));
  }
  for (std::size_t i = 0; i < args.resources.size(); ++i) {
    const auto& [name, weight] = args.resources[i];
    if (weight < 1 || weight > 100) {
      errors.push_back(fmt::format(
          "scoringStrategy.resources[{}].weight: Invalid value: {}: resource weight of {} not in valid "
          "range (0, 100]",
          i, weight, name));
    }
  }
  if (type == kRatio && !args.has_ratio) {
    errors.push_back(
        "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is "
        "RequestedToCapacityRatio");
  } else if (type == kRatio) {
    CheckShape(args.shape, "scoringStrategy.requestedToCapacityRatio.shape", errors);
  } else if (args.has_ratio) {
    errors.push_back(
        "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not "
        "RequestedToCapacityRatio");
  }
}

NodeResourcesFitArgs DecodeFit(const Value& value, const FeatureGates&, Problems& problems) {
  NodeResourcesFitArgs args;
  StructReader reader(value, "NodeResourcesFitArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("ignoredResources", args.ignored_resources);
  reader.Read("ignoredResourceGroups", args.ignored_resource_groups);
  reader.With(
      "scoringStrategy",
      [&](const Value& strategy, const std::string& path) { ReadStrategy(strategy, path, args, problems); },
      "v1.ScoringStrategy");
  reader.Finish();
  return args;
}

// kube-scheduler validates these when it creates the plugin, where the path in the file is unknown.
std::vector<std::string> CheckFit(const NodeResourcesFitArgs& args, const std::string&, const FeatureGates&) {
  std::vector<std::string> errors;
  CheckIgnored(args, errors);
  CheckStrategy(args, errors);
  return errors;
}

Value WriteTexts(const std::vector<std::string>& texts) {
  Value list = Value::List();
  for (const std::string& text : texts) list.items.push_back(Value::Text(text));
  return list;
}

Value WriteResources(const std::vector<WeightedResource>& resources) {
  Value list = Value::List();
  for (const WeightedResource& resource : resources) {
    Value& item = list.items.emplace_back(Value::Map());
    item.Set("name", Value::Text(resource.name));
    item.Set("weight", Value::Number(resource.weight));
  }
  return list;
}

Value EncodeFit(const NodeResourcesFitArgs& args) {
  Value out = Value::Map();
  if (!args.ignored_resources.empty()) out.Set("ignoredResources", WriteTexts(args.ignored_resources));
  if (!args.ignored_resource_groups.empty())
    out.Set("ignoredResourceGroups", WriteTexts(args.ignored_resource_groups));
  Value& strategy = out.Set("scoringStrategy", Value::Map());
  if (!args.strategy_type.empty()) strategy.Set("type", Value::Text(args.strategy_type));
  strategy.Set("resources", WriteResources(args.resources));
  if (!args.has_ratio) return out;
  Value& ratio = strategy.Set("requestedToCapacityRatio", Value::Map());
  if (!args.shape.empty()) ratio.Set("shape", WriteShape(args.shape));
  return out;
}

BalancedAllocationArgs DecodeBalanced(const Value& value, const FeatureGates&, Problems& problems) {
  BalancedAllocationArgs args;
  StructReader reader(value, "NodeResourcesBalancedAllocationArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  args.resources = ReadResources(reader, problems);
  reader.Finish();
  return args;
}

std::vector<std::string> CheckBalanced(const BalancedAllocationArgs& args, const std::string& path,
                                       const FeatureGates&) {
  std::vector<std::string> errors;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < args.resources.size(); ++i) {
    const auto& [name, weight] = args.resources[i];
    if (!seen.insert(name).second)
      errors.push_back(fmt::format("{}.resources[{}].name: Duplicate value: \"{}\"", path, i, name));
    if (weight != 1)
      errors.push_back(fmt::format("{}.resources[{}].weight: Invalid value: {}: must be 1", path, i, weight));
  }
  return errors;
}

Value EncodeBalanced(const BalancedAllocationArgs& args) {
  Value out = Value::Map();
  out.Set("resources", WriteResources(args.resources));
  return out;
}

}  // namespace

ScoringStrategy NodeResourcesFitArgs::strategy() const {
  return strategy_type == kRatio            ? ScoringStrategy::kRequestedToCapacityRatio
         : strategy_type == "MostAllocated" ? ScoringStrategy::kMostAllocated
                                            : ScoringStrategy::kLeastAllocated;
}

Expected<NodeResourcesFitArgs> ParseNodeResourcesFitArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeFit, CheckFit);
}

Expected<BalancedAllocationArgs> ParseBalancedAllocationArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeBalanced, CheckBalanced);
}

config::ArgsCodec NodeResourcesFitArgsCodec() {
  auto codec =
      config::MakeArgsCodec<NodeResourcesFitArgs>("NodeResourcesFitArgs", DecodeFit, CheckFit, EncodeFit);
  codec.checked_by_plugin = true;
  return codec;
}

config::ArgsCodec BalancedAllocationArgsCodec() {
  return config::MakeArgsCodec<BalancedAllocationArgs>("NodeResourcesBalancedAllocationArgs", DecodeBalanced,
                                                       CheckBalanced, EncodeBalanced);
}

}  // namespace berth::plugins
