#include "scheduler/plugins/fair_order/fair_order_args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/go_duration.hpp"
#include "base/nearest.hpp"
#include "config/duration.hpp"
#include "config/name_errors.hpp"
#include "scheduler/plugins/args_range.hpp"

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;
using Tenant = FairOrderArgs::Tenant;
using Priority = FairOrderArgs::Priority;

constexpr std::chrono::nanoseconds kShortestAgeing = std::chrono::seconds(1),
                                   kLongestAgeing = std::chrono::hours(8760);

constexpr std::pair<std::string_view, Priority> kPriorities[] = {{"WithinTenant", Priority::kWithinTenant},
                                                                 {"BeforeTenant", Priority::kBeforeTenant}};

std::string_view NameOf(Priority priority) {
  return std::ranges::find(kPriorities, priority, &std::pair<std::string_view, Priority>::second)->first;
}

void ReadPriority(StructReader& reader, Priority& out, Problems& problems) {
  std::string text;
  reader.Read("priority", text);
  if (text.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, value] : kPriorities) {
    if (name == text) {
      out = value;
      return;
    }
    names.emplace_back(name);
  }
  const std::string near = Nearest(text, names);
  problems.Other(fmt::format(
      "priority: Unsupported value: \"{}\": supported values: \"WithinTenant\", \"BeforeTenant\"{}", text,
      near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

FairOrderArgs DecodeFairOrder(const Value& value, const config::FeatureGates&, Problems& problems) {
  FairOrderArgs args;
  StructReader reader(value, "FairOrderArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("tenantLabel", args.tenant_label);
  reader.Read("separator", args.separator);
  reader.Each(
      "tenants",
      [&](const Value& item, const std::string& path) {
        Tenant& tenant = args.tenants.emplace_back();
        StructReader one(item, "Tenant", path, problems);
        one.Read("name", tenant.name);
        one.Read("parent", tenant.parent);
        double weight = 0;
        one.Read("weight", weight);
        if (one.Has("weight")) tenant.weight = weight;
        one.Finish();
      },
      "Tenant");
  reader.Read("defaultWeight", args.default_weight);
  reader.Read("resources", args.resources);
  ReadPriority(reader, args.priority, problems);
  config::ReadDuration(reader, "ageing", args.ageing, problems);
  reader.Read("maxTenants", args.max_tenants);
  reader.Read("maxTenantSeries", args.max_series);
  reader.Finish();
  return args;
}

void CheckWeight(double weight, const std::string& path, std::vector<std::string>& errors) {
  // Also rejects values that are not numbers.
  if (weight >= FairOrderArgs::kLowestWeight && weight <= FairOrderArgs::kHighestWeight) return;
  errors.push_back(fmt::format("{}: Invalid value: {}: must be from {} to {}", path, weight,
                               FairOrderArgs::kLowestWeight, FairOrderArgs::kHighestWeight));
}

// The number of names from the root to this tenant; more than kDeepest also if the parents form a circle.
std::size_t DepthOf(const Tenant& tenant, const std::map<std::string, const Tenant*>& by_name) {
  std::size_t depth = 1;
  for (const Tenant* at = &tenant; !at->parent.empty() && depth <= FairOrderArgs::kDeepest; ++depth) {
    const auto parent = by_name.find(at->parent);
    if (parent == by_name.end()) break;
    at = parent->second;
  }
  return depth;
}

void CheckTenants(const FairOrderArgs& args, const std::string& path, std::vector<std::string>& errors) {
  if (args.tenants.size() > static_cast<std::size_t>(FairOrderArgs::kMostTenants)) {
    errors.push_back(fmt::format("{}: Too many: {}: must have at most {} items", path, args.tenants.size(),
                                 FairOrderArgs::kMostTenants));
    return;
  }
  std::map<std::string, const Tenant*> by_name;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < args.tenants.size(); ++i) {
    const Tenant& tenant = args.tenants[i];
    const std::string at = fmt::format("{}[{}]", path, i);
    if (tenant.weight) CheckWeight(*tenant.weight, at + ".weight", errors);
    if (tenant.name.empty()) {
      errors.push_back(at + ".name: Required value: must be the name of a tenant");
    } else if (!by_name.emplace(tenant.name, &tenant).second) {
      errors.push_back(fmt::format("{}.name: Duplicate value: \"{}\"", at, tenant.name));
    } else {
      names.push_back(tenant.name);
    }
  }
  for (std::size_t i = 0; i < args.tenants.size(); ++i) {
    const Tenant& tenant = args.tenants[i];
    if (tenant.parent.empty()) continue;
    const std::string at = fmt::format("{}[{}].parent", path, i);
    if (!args.separator.empty()) {
      errors.push_back(
          fmt::format("{}: Forbidden: with a separator, names are paths: write \"{}{}{}\" as name", at,
                      tenant.parent, args.separator, tenant.name));
    } else if (!by_name.contains(tenant.parent)) {
      const std::string near = Nearest(tenant.parent, names);
      errors.push_back(fmt::format("{}: Not found: \"{}\": must be the name of another tenant{}", at,
                                   tenant.parent,
                                   near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
    } else if (DepthOf(tenant, by_name) > FairOrderArgs::kDeepest) {
      errors.push_back(fmt::format("{}: Invalid value: \"{}\": must not form a circle or more than {} levels",
                                   at, tenant.parent, FairOrderArgs::kDeepest));
    }
  }
}

void CheckResources(const std::vector<std::string>& names, const std::string& path,
                    std::vector<std::string>& errors) {
  if (names.empty()) errors.push_back(path + ": Required value: must name at least one resource");
  if (names.size() > FairOrderArgs::kMostResources) {
    errors.push_back(fmt::format("{}: Too many: {}: must have at most {} items", path, names.size(),
                                 FairOrderArgs::kMostResources));
  }
  std::set<std::string> known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    if (config::CheckQualifiedName(at, names[i], errors) && !known.insert(names[i]).second)
      errors.push_back(fmt::format("{}: Duplicate value: \"{}\"", at, names[i]));
  }
}

std::vector<std::string> CheckFairOrder(const FairOrderArgs& args, const std::string& path,
                                        const config::FeatureGates&) {
  std::vector<std::string> errors;
  if (!args.tenant_label.empty())
    config::CheckQualifiedName(path + ".tenantLabel", args.tenant_label, errors);
  if (args.separator != "" && args.separator != "." && args.separator != "-" && args.separator != "_") {
    errors.push_back(
        fmt::format("{}.separator: Unsupported value: \"{}\": supported values: \".\", \"-\", \"_\"", path,
                    args.separator));
  }
  if (!args.separator.empty() && args.tenant_label.empty())
    errors.push_back(path +
                     ".separator: Forbidden: only with a tenantLabel; namespaces get a tree by tenants");
  CheckTenants(args, path + ".tenants", errors);
  CheckWeight(args.default_weight, path + ".defaultWeight", errors);
  CheckResources(args.resources, path + ".resources", errors);
  if (args.ageing.count() != 0 && (args.ageing < kShortestAgeing || args.ageing > kLongestAgeing)) {
    errors.push_back(fmt::format("{}.ageing: Invalid value: \"{}\": must be 0 or from {} to {}", path,
                                 FormatGoDuration(args.ageing), FormatGoDuration(kShortestAgeing),
                                 FormatGoDuration(kLongestAgeing)));
  }
  CheckRange(path + ".maxTenants", args.max_tenants, 1, FairOrderArgs::kMostTenants, errors);
  CheckRange(path + ".maxTenantSeries", args.max_series, 0, FairOrderArgs::kMostSeries, errors);
  return errors;
}

Value EncodeFairOrder(const FairOrderArgs& args) {
  Value out = Value::Map();
  if (!args.tenant_label.empty()) out.Set("tenantLabel", Value::Text(args.tenant_label));
  if (!args.separator.empty()) out.Set("separator", Value::Text(args.separator));
  if (!args.tenants.empty()) {
    Value tenants = Value::List();
    for (const Tenant& tenant : args.tenants) {
      Value item = Value::Map();
      item.Set("name", Value::Text(tenant.name));
      if (!tenant.parent.empty()) item.Set("parent", Value::Text(tenant.parent));
      if (tenant.weight) item.Set("weight", Value::Float(*tenant.weight));
      tenants.items.push_back(std::move(item));
    }
    out.Set("tenants", std::move(tenants));
  }
  out.Set("defaultWeight", Value::Float(args.default_weight));
  Value resources = Value::List();
  for (const std::string& name : args.resources) resources.items.push_back(Value::Text(name));
  out.Set("resources", std::move(resources));
  out.Set("priority", Value::Text(std::string(NameOf(args.priority))));
  out.Set("ageing", Value::Text(FormatGoDuration(args.ageing)));
  out.Set("maxTenants", Value::Number(args.max_tenants));
  out.Set("maxTenantSeries", Value::Number(args.max_series));
  return out;
}

}  // namespace

Expected<FairOrderArgs> ParseFairOrderArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeFairOrder, CheckFairOrder);
}

config::ArgsCodec FairOrderArgsCodec() {
  auto codec =
      config::MakeArgsCodec<FairOrderArgs>("FairOrderArgs", DecodeFairOrder, CheckFairOrder, EncodeFairOrder);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
