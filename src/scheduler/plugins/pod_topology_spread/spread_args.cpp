#include "scheduler/plugins/pod_topology_spread/spread_args.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/name_errors.hpp"

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;

std::vector<api::TopologySpreadConstraint> SystemDefaults() {
  std::vector<api::TopologySpreadConstraint> constraints(2);
  constraints[0].topology_key = "kubernetes.io/hostname";
  constraints[0].max_skew = 3;
  constraints[1].topology_key = "topology.kubernetes.io/zone";
  constraints[1].max_skew = 5;
  for (auto& constraint : constraints) constraint.when_unsatisfiable = "ScheduleAnyway";
  return constraints;
}

SpreadConstraintArgs ReadConstraint(const Value& value, const std::string& path, Problems& problems) {
  SpreadConstraintArgs raw;
  api::TopologySpreadConstraint& out = raw.constraint;
  StructReader reader(value, "TopologySpreadConstraint", path, problems);
  std::int64_t max_skew = 0;
  reader.Read("maxSkew", max_skew, "int32");
  reader.Read("topologyKey", out.topology_key);
  reader.Read("whenUnsatisfiable", out.when_unsatisfiable, "v1.UnsatisfiableConstraintAction");
  if (reader.Has("minDomains")) {
    std::int64_t min_domains = 0;
    reader.Read("minDomains", min_domains, "int32");
    out.min_domains = static_cast<std::int32_t>(min_domains);
  }
  reader.Read("nodeAffinityPolicy", out.node_affinity_policy);
  reader.Read("nodeTaintsPolicy", out.node_taints_policy);
  reader.Read("matchLabelKeys", raw.match_label_keys);
  if (const Value* selector = reader.Take("labelSelector")) raw.label_selector = *selector;
  reader.Finish();
  out.max_skew = static_cast<std::int32_t>(max_skew);
  return raw;
}

void CheckKey(const std::string& path, const std::string& key, std::vector<std::string>& errors) {
  if (key.empty()) {
    errors.push_back(fmt::format("{}.topologyKey: Required value: can not be empty", path));
  } else {
    config::CheckQualifiedName(path + ".topologyKey", key, errors);
  }
}

void CheckAction(const std::string& path, const std::string& action, std::vector<std::string>& errors) {
  if (action.empty()) {
    errors.push_back(fmt::format("{}.whenUnsatisfiable: Required value: can not be empty", path));
  } else if (action != "DoNotSchedule" && action != "ScheduleAnyway") {
    errors.push_back(
        fmt::format("{}.whenUnsatisfiable: Unsupported value: \"{}\": supported values: "
                    "\"DoNotSchedule\", \"ScheduleAnyway\"",
                    path, action));
  }
}

void CheckConstraints(const std::string& path, const std::vector<SpreadConstraintArgs>& constraints,
                      std::vector<std::string>& errors) {
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const api::TopologySpreadConstraint& constraint = constraints[i].constraint;
    const std::string place = fmt::format("{}[{}]", path, i);
    if (constraint.max_skew <= 0) {
      errors.push_back(fmt::format("{}.maxSkew: Invalid value: {}: not in valid range (0, inf)", place,
                                   constraint.max_skew));
    }
    CheckKey(place, constraint.topology_key, errors);
    CheckAction(place, constraint.when_unsatisfiable, errors);
    if (constraints[i].label_selector) {
      errors.push_back(
          fmt::format("{}.labelSelector: Forbidden: constraint must not define a selector, as they "
                      "deduced for each pod",
                      place));
    }
    const bool repeats =
        std::any_of(constraints.begin(), constraints.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const SpreadConstraintArgs& other) {
                      return constraint.when_unsatisfiable == other.constraint.when_unsatisfiable &&
                             constraint.topology_key == other.constraint.topology_key;
                    });
    if (repeats) {
      errors.push_back(fmt::format("{}: Duplicate value: \"{{{}, {}}}\"", place, constraint.topology_key,
                                   constraint.when_unsatisfiable));
    }
  }
}

PodTopologySpreadArgs DecodePodTopologySpreadArgs(const Value& value, const config::FeatureGates&,
                                                  Problems& problems) {
  PodTopologySpreadArgs args;
  StructReader reader(value, "PodTopologySpreadArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("defaultingType", args.defaulting_type, "v1.PodTopologySpreadConstraintsDefaulting");
  reader.Each(
      "defaultConstraints",
      [&](const Value& item, const std::string& path) {
        args.given.push_back(ReadConstraint(item, path, problems));
      },
      "v1.TopologySpreadConstraint");
  reader.Finish();
  if (args.defaulting_type.empty()) args.defaulting_type = "System";
  args.system_defaults = args.defaulting_type != "List";
  if (args.system_defaults) {
    args.default_constraints = SystemDefaults();
  } else {
    for (const SpreadConstraintArgs& constraint : args.given)
      args.default_constraints.push_back(constraint.constraint);
  }
  return args;
}

std::vector<std::string> Check(const PodTopologySpreadArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  const std::string& type = args.defaulting_type;
  if (type != "System" && type != "List") {
    errors.push_back(fmt::format(
        "{}.defaultingType: Unsupported value: \"{}\": supported values: \"System\", \"List\"", path, type));
  } else if (type == "System" && !args.given.empty()) {
    errors.push_back(fmt::format(
        "{}.defaultingType: Invalid value: \"System\": when .defaultConstraints are not empty", path));
  }
  CheckConstraints(path + ".defaultConstraints", args.given, errors);
  return errors;
}

Value EncodeConstraint(const SpreadConstraintArgs& args) {
  const api::TopologySpreadConstraint& constraint = args.constraint;
  Value out = Value::Map();
  out.Set("maxSkew", Value::Number(constraint.max_skew));
  out.Set("topologyKey", Value::Text(constraint.topology_key));
  out.Set("whenUnsatisfiable", Value::Text(constraint.when_unsatisfiable));
  if (args.label_selector) out.Set("labelSelector", *args.label_selector);
  if (constraint.min_domains) out.Set("minDomains", Value::Number(*constraint.min_domains));
  if (!constraint.node_affinity_policy.empty())
    out.Set("nodeAffinityPolicy", Value::Text(constraint.node_affinity_policy));
  if (!constraint.node_taints_policy.empty())
    out.Set("nodeTaintsPolicy", Value::Text(constraint.node_taints_policy));
  if (!args.match_label_keys.empty()) {
    Value& keys = out.Set("matchLabelKeys", Value::List());
    for (const std::string& key : args.match_label_keys) keys.items.push_back(Value::Text(key));
  }
  return out;
}

Value Encode(const PodTopologySpreadArgs& args) {
  Value out = Value::Map();
  out.Set("defaultingType", Value::Text(args.defaulting_type));
  if (args.given.empty()) return out;
  Value& list = out.Set("defaultConstraints", Value::List());
  for (const SpreadConstraintArgs& constraint : args.given)
    list.items.push_back(EncodeConstraint(constraint));
  return out;
}

}  // namespace

Expected<PodTopologySpreadArgs> ParsePodTopologySpreadArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodePodTopologySpreadArgs, Check);
}

config::ArgsCodec PodTopologySpreadArgsCodec() {
  return config::MakeArgsCodec<PodTopologySpreadArgs>("PodTopologySpreadArgs", DecodePodTopologySpreadArgs,
                                                      Check, Encode);
}

}  // namespace berth::plugins
