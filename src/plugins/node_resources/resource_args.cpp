#include "plugins/node_resources/resource_args.hpp"

#include <fmt/format.h>

#include <set>

#include "api/selectors.hpp"

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;

Expected<void> Report(const std::vector<std::string>& errors) {
  if (errors.empty()) return {};
  return Invalid(api::JoinErrors(errors));
}

std::vector<WeightedResource> ReadResources(StructReader& reader, Problems& problems) {
  std::vector<WeightedResource> resources;
  reader.Each("resources", [&](const Value& item, const std::string& path) {
    WeightedResource& resource = resources.emplace_back(WeightedResource{"", 0});
    StructReader fields(item, "ResourceSpec", path, problems);
    fields.Read("name", resource.name);
    fields.Read("weight", resource.weight);
    fields.Finish();
    if (resource.weight == 0) resource.weight = 1;
  });
  if (resources.empty()) resources = {{"cpu", 1}, {"memory", 1}};
  return resources;
}

// What the file says before it is checked.
struct RawStrategy {
  std::string type = "LeastAllocated";
  bool has_ratio = false;
};

void ReadStrategy(const Value& value, const std::string& path, NodeResourcesFitArgs& args, RawStrategy& raw,
                  Problems& problems) {
  raw.type.clear();  // once the object is given, its type is not defaulted
  StructReader reader(value, "ScoringStrategy", path, problems);
  reader.Read("type", raw.type);
  args.resources = ReadResources(reader, problems);
  reader.With("requestedToCapacityRatio", [&](const Value& ratio, const std::string& ratio_path) {
    raw.has_ratio = true;
    StructReader fields(ratio, "RequestedToCapacityRatioParam", ratio_path, problems);
    args.shape = ReadShape(fields, problems);
    fields.Finish();
  });
  reader.Finish();
}

void CheckIgnored(const NodeResourcesFitArgs& args, std::vector<std::string>& errors) {
  for (std::size_t i = 0; i < args.ignored_resources.size(); ++i) {
    if (auto wrong = api::CheckLabelKey(args.ignored_resources[i]); !wrong.empty()) {
      errors.push_back(fmt::format("ignoredResources[{}]: Invalid value: \"{}\": {}", i,
                                   args.ignored_resources[i], wrong));
    }
  }
  for (std::size_t i = 0; i < args.ignored_resource_groups.size(); ++i) {
    const std::string& group = args.ignored_resource_groups[i];
    if (group.find('/') != std::string::npos) {
      errors.push_back(fmt::format(
          "ignoredResourceGroups[{}]: Invalid value: \"{}\": resource group name can't contain '/'", i,
          group));
    }
    if (auto wrong = api::CheckLabelKey(group); !wrong.empty()) {
      errors.push_back(fmt::format("ignoredResourceGroups[{}]: Invalid value: \"{}\": {}", i, group, wrong));
    }
  }
}

void CheckStrategy(const RawStrategy& raw, NodeResourcesFitArgs& args, std::vector<std::string>& errors) {
  for (std::size_t i = 0; i < args.resources.size(); ++i) {
    const auto& [name, weight] = args.resources[i];
    if (weight < 1 || weight > 100) {
      errors.push_back(fmt::format(
          "scoringStrategy.resources[{}].weight: Invalid value: {}: resource weight of {} not in valid "
          "range (0, 100]",
          i, weight, name));
    }
  }
  if (raw.type == "RequestedToCapacityRatio") {
    args.strategy = ScoringStrategy::kRequestedToCapacityRatio;
    if (raw.has_ratio) {
      CheckShape(args.shape, "scoringStrategy.requestedToCapacityRatio.shape", errors);
    } else {
      errors.push_back(
          "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is "
          "RequestedToCapacityRatio");
    }
    return;
  }
  if (raw.type == "MostAllocated") {
    args.strategy = ScoringStrategy::kMostAllocated;
  } else if (raw.type != "LeastAllocated") {
    errors.push_back(
        fmt::format("scoringStrategy.type: Unsupported value: \"{}\": supported values: \"LeastAllocated\", "
                    "\"MostAllocated\", \"RequestedToCapacityRatio\"",
                    raw.type));
    return;
  }
  if (raw.has_ratio) {
    errors.push_back(
        "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not "
        "RequestedToCapacityRatio");
  }
}

}  // namespace

Expected<NodeResourcesFitArgs> ParseNodeResourcesFitArgs(const framework::RawArgs& raw) {
  NodeResourcesFitArgs args;
  if (raw.value == nullptr) return args;
  Problems problems;
  RawStrategy strategy;
  StructReader reader(*raw.value, "NodeResourcesFitArgs", "", problems);
  reader.Take("kind");
  reader.Take("apiVersion");
  reader.Read("ignoredResources", args.ignored_resources);
  reader.Read("ignoredResourceGroups", args.ignored_resource_groups);
  reader.With("scoringStrategy", [&](const Value& value, const std::string& path) {
    ReadStrategy(value, path, args, strategy, problems);
  });
  reader.Finish();
  if (!problems.empty()) return Invalid(problems.Text());
  std::vector<std::string> errors;
  CheckIgnored(args, errors);
  CheckStrategy(strategy, args, errors);
  BERTH_CHECKED(Report(errors));
  return args;
}

Expected<BalancedAllocationArgs> ParseBalancedAllocationArgs(const framework::RawArgs& raw) {
  BalancedAllocationArgs args;
  if (raw.value == nullptr) return args;
  Problems problems;
  StructReader reader(*raw.value, "NodeResourcesBalancedAllocationArgs", "", problems);
  reader.Take("kind");
  reader.Take("apiVersion");
  args.resources = ReadResources(reader, problems);
  reader.Finish();
  if (!problems.empty()) return Invalid(problems.Text());
  std::vector<std::string> errors;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < args.resources.size(); ++i) {
    const auto& [name, weight] = args.resources[i];
    if (weight != 1)
      errors.push_back(
          fmt::format("{}.resources[{}].weight: Invalid value: {}: must be 1", raw.path, i, weight));
    if (!seen.insert(name).second)
      errors.push_back(fmt::format("{}.resources[{}].name: Duplicate value: \"{}\"", raw.path, i, name));
  }
  BERTH_CHECKED(Report(errors));
  return args;
}

}  // namespace berth::plugins
