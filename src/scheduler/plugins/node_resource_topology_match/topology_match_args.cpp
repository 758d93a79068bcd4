#include "scheduler/plugins/node_resource_topology_match/topology_match_args.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;
using Args = NodeResourceTopologyMatchArgs;

// In the order of NumaStrategy.
constexpr std::string_view kStrategies[] = {"LeastAllocated", "MostAllocated", "BalancedAllocation",
                                            "LeastNUMANodes"};
constexpr std::string_view kForeignPods[] = {"None", "All", "OnlyExclusiveResources"};
constexpr std::string_view kResyncMethods[] = {"Autodetect", "All", "OnlyExclusiveResources"};
constexpr std::string_view kInformerModes[] = {"Shared", "Dedicated"};
constexpr std::string_view kResyncScopes[] = {"All", "OnlyResources"};

void ReadScoringStrategy(const Value& value, const std::string& path, Args& args, Problems& problems) {
  args.strategy.clear();  // if the object is given, its type has no default
  StructReader reader(value, "ScoringStrategy", path, problems);
  reader.Read("type", args.strategy, "v1.ScoringStrategyType");
  std::vector<Args::Weight> weights;
  reader.Each(
      "resources",
      [&](const Value& item, const std::string& item_path) {
        Args::Weight& weight = weights.emplace_back(Args::Weight{"", 0});
        StructReader fields(item, "ResourceSpec", item_path, problems);
        fields.Read("name", weight.name);
        fields.Read("weight", weight.weight);
        fields.Finish();
        if (weight.weight == 0) weight.weight = 1;
      },
      "v1.ResourceSpec");
  if (!weights.empty()) args.weights = std::move(weights);
  reader.Finish();
}

void ReadCache(const Value& value, const std::string& path, Args& args, Problems& problems) {
  StructReader reader(value, "NodeResourceTopologyCache", path, problems);
  reader.Read("foreignPodsDetect", args.foreign_pods, "v1.ForeignPodsDetectMode");
  reader.Read("resyncMethod", args.resync_method, "v1.CacheResyncMethod");
  reader.Read("informerMode", args.informer_mode, "v1.CacheInformerMode");
  reader.Read("resyncScope", args.resync_scope, "v1.CacheResyncScope");
  reader.Finish();
}

Args DecodeTopologyMatch(const Value& value, const config::FeatureGates&, Problems& problems) {
  Args args;
  StructReader reader(value, "NodeResourceTopologyMatchArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.With(
      "scoringStrategy",
      [&](const Value& strategy, const std::string& path) {
        ReadScoringStrategy(strategy, path, args, problems);
      },
      "v1.ScoringStrategy");
  reader.Read("cacheResyncPeriodSeconds", args.resync_seconds);
  reader.Read("discardReservedNodes", args.discard_reserved_nodes);
  reader.With(
      "cache", [&](const Value& cache, const std::string& path) { ReadCache(cache, path, args, problems); },
      "v1.NodeResourceTopologyCache");
  reader.Finish();
  return args;
}

void CheckName(const std::string& path, const std::string& value, std::span<const std::string_view> known,
               std::string_view problem, std::vector<std::string>& errors) {
  if (std::ranges::find(known, value) != known.end()) return;
  errors.push_back(fmt::format("{}: Invalid value: \"{}\": {}must be one of {}", path, value, problem,
                               fmt::join(known, ", ")));
}

void CheckWeights(const Args& args, const std::string& path, std::vector<std::string>& errors) {
  if (args.weights.size() > Args::kMostWeights) {
    errors.push_back(fmt::format("{}: Too many: {}: must have at most {} items", path, args.weights.size(),
                                 Args::kMostWeights));
  }
  for (std::size_t i = 0; i < args.weights.size(); ++i) {
    const Args::Weight& weight = args.weights[i];
    if (weight.name.empty())
      errors.push_back(fmt::format("{}[{}].name: Required value: must be the name of a resource", path, i));
    if (weight.weight > Args::kHighestWeight) {
      errors.push_back(fmt::format("{}[{}].weight: Invalid value: {}: must be at most {}", path, i,
                                   weight.weight, Args::kHighestWeight));
    }
  }
}

std::vector<std::string> CheckTopologyMatch(const Args& args, const std::string& path,
                                            const config::FeatureGates&) {
  std::vector<std::string> errors;
  CheckName(path + ".scoringStrategy.type", args.strategy, kStrategies,
            "invalid ScoringStrategyType: ", errors);
  CheckWeights(args, path + ".scoringStrategy.resources", errors);
  CheckName(path + ".cache.foreignPodsDetect", args.foreign_pods, kForeignPods, "", errors);
  CheckName(path + ".cache.resyncMethod", args.resync_method, kResyncMethods, "", errors);
  CheckName(path + ".cache.informerMode", args.informer_mode, kInformerModes, "", errors);
  CheckName(path + ".cache.resyncScope", args.resync_scope, kResyncScopes, "", errors);
  if (args.resync_seconds > 0 && !args.discard_reserved_nodes) {
    errors.push_back(
        fmt::format("{}.cacheResyncPeriodSeconds: Invalid value: {}: Berth does not support the cache that "
                    "reserves on all "
                    "zones: must be 0, or discardReservedNodes must be true",
                    path, args.resync_seconds));
  }
  return errors;
}

Value EncodeTopologyMatch(const Args& args) {
  Value out = Value::Map();
  Value& strategy = out.Set("scoringStrategy", Value::Map());
  strategy.Set("type", Value::Text(args.strategy));
  Value resources = Value::List();
  for (const Args::Weight& weight : args.weights) {
    Value& item = resources.items.emplace_back(Value::Map());
    item.Set("name", Value::Text(weight.name));
    item.Set("weight", Value::Number(weight.weight));
  }
  strategy.Set("resources", std::move(resources));
  out.Set("cacheResyncPeriodSeconds", Value::Number(args.resync_seconds));
  out.Set("discardReservedNodes", Value::Bool(args.discard_reserved_nodes));
  Value& cache = out.Set("cache", Value::Map());
  cache.Set("foreignPodsDetect", Value::Text(args.foreign_pods));
  cache.Set("resyncMethod", Value::Text(args.resync_method));
  cache.Set("informerMode", Value::Text(args.informer_mode));
  cache.Set("resyncScope", Value::Text(args.resync_scope));
  return out;
}

}  // namespace

NumaStrategy Args::strategy_type() const {
  return static_cast<NumaStrategy>(std::ranges::find(kStrategies, strategy) - std::begin(kStrategies));
}

Expected<Args> ParseNodeResourceTopologyMatchArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeTopologyMatch, CheckTopologyMatch);
}

config::ArgsCodec NodeResourceTopologyMatchArgsCodec() {
  auto codec = config::MakeArgsCodec<Args>("NodeResourceTopologyMatchArgs", DecodeTopologyMatch,
                                           CheckTopologyMatch, EncodeTopologyMatch);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
