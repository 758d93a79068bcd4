#include "plugins/pod_topology_spread/spread_args.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/selectors.hpp"

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;

struct RawConstraint {
  api::TopologySpreadConstraint constraint;
  bool has_selector = false;
};

std::vector<api::TopologySpreadConstraint> SystemDefaults() {
  std::vector<api::TopologySpreadConstraint> constraints(2);
  constraints[0].topology_key = "kubernetes.io/hostname";
  constraints[0].max_skew = 3;
  constraints[1].topology_key = "topology.kubernetes.io/zone";
  constraints[1].max_skew = 5;
  for (auto& constraint : constraints) constraint.when_unsatisfiable = "ScheduleAnyway";
  return constraints;
}

RawConstraint ReadConstraint(const Value& value, const std::string& path, Problems& problems) {
  RawConstraint raw;
  api::TopologySpreadConstraint& out = raw.constraint;
  StructReader reader(value, "TopologySpreadConstraint", path, problems);
  std::int64_t max_skew = 0;
  std::vector<std::string> match_label_keys;
  reader.Read("maxSkew", max_skew, "int32");
  reader.Read("topologyKey", out.topology_key);
  reader.Read("whenUnsatisfiable", out.when_unsatisfiable);
  if (reader.Has("minDomains")) {
    std::int64_t min_domains = 0;
    reader.Read("minDomains", min_domains, "int32");
    out.min_domains = static_cast<std::int32_t>(min_domains);
  }
  reader.Read("nodeAffinityPolicy", out.node_affinity_policy);
  reader.Read("nodeTaintsPolicy", out.node_taints_policy);
  reader.Read("matchLabelKeys", match_label_keys);
  raw.has_selector = reader.Has("labelSelector");
  reader.Take("labelSelector");
  reader.Finish();
  out.max_skew = static_cast<std::int32_t>(max_skew);
  return raw;
}

void CheckKey(const std::string& path, const std::string& key, std::vector<std::string>& errors) {
  if (key.empty()) {
    errors.push_back(fmt::format("{}.topologyKey: Required value: can not be empty", path));
  } else if (auto wrong = api::CheckLabelKey(key); !wrong.empty()) {
    errors.push_back(fmt::format("{}.topologyKey: Invalid value: \"{}\": {}", path, key, wrong));
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

void CheckConstraints(const std::string& path, const std::vector<RawConstraint>& constraints,
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
    if (constraints[i].has_selector) {
      errors.push_back(
          fmt::format("{}.labelSelector: Forbidden: constraint must not define a selector, as they "
                      "deduced for each pod",
                      place));
    }
    const bool repeats =
        std::any_of(constraints.begin(), constraints.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const RawConstraint& other) {
                      return constraint.when_unsatisfiable == other.constraint.when_unsatisfiable &&
                             constraint.topology_key == other.constraint.topology_key;
                    });
    if (repeats) {
      errors.push_back(fmt::format("{}: Duplicate value: \"{{{}, {}}}\"", place, constraint.topology_key,
                                   constraint.when_unsatisfiable));
    }
  }
}

}  // namespace

Expected<PodTopologySpreadArgs> ParsePodTopologySpreadArgs(const framework::RawArgs& raw) {
  PodTopologySpreadArgs args;
  args.default_constraints = SystemDefaults();
  if (raw.value == nullptr) return args;
  Problems problems;
  std::string type;
  std::vector<RawConstraint> constraints;
  StructReader reader(*raw.value, "PodTopologySpreadArgs", "", problems);
  reader.Take("kind");
  reader.Take("apiVersion");
  reader.Read("defaultingType", type);
  reader.Each("defaultConstraints", [&](const Value& item, const std::string& path) {
    constraints.push_back(ReadConstraint(item, path, problems));
  });
  reader.Finish();
  if (!problems.empty()) return Invalid(problems.Text());
  if (type.empty()) type = "System";
  std::vector<std::string> errors;
  if (type != "System" && type != "List") {
    errors.push_back(
        fmt::format("{}.defaultingType: Unsupported value: \"{}\": supported values: \"System\", \"List\"",
                    raw.path, type));
  } else if (type == "System" && !constraints.empty()) {
    errors.push_back(
        fmt::format("{}.defaultingType: Invalid value: \"System\": when .defaultConstraints are not "
                    "empty",
                    raw.path));
  }
  CheckConstraints(raw.path + ".defaultConstraints", constraints, errors);
  if (!errors.empty()) return Invalid(api::JoinErrors(errors));
  if (type == "List") {
    args.system_defaults = false;
    args.default_constraints.clear();
    for (RawConstraint& constraint : constraints)
      args.default_constraints.push_back(std::move(constraint.constraint));
  }
  return args;
}

}  // namespace berth::plugins
