#include "process/metrics_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.hpp"
#include "base/trim.hpp"
#include "base/write_yaml.hpp"
#include "config/value.hpp"

namespace berth::process {
namespace {

std::string_view Unquoted(std::string_view text) { return Trimmed(text, "'\" "); }

using Mapping = std::map<std::string, std::string>;  // "metric,label": "v1,v2"

constexpr std::string_view kMetricName = "[a-zA-Z_:][a-zA-Z0-9_:]*";
constexpr std::string_view kLabelName = "[a-zA-Z_][a-zA-Z0-9_]*";

bool IsName(std::string_view text, bool colons) {
  const auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c == ':' && colons);
  };
  if (text.empty() || !fits(text.front())) return false;
  return std::ranges::all_of(text, [&](char c) { return fits(c) || (c >= '0' && c <= '9'); });
}

bool IsMetricAndLabel(std::string_view key) {
  const auto comma = key.find(',');
  return comma != key.npos && IsName(key.substr(0, comma), true) && IsName(key.substr(comma + 1), false);
}

std::string InvalidValue(std::string_view field, const std::string& value, std::string_view why) {
  return fmt::format("metrics.{}: Invalid value: {}: {}", field, value, why);
}

std::string Json(const Mapping& mapping) {
  config::Value map = config::Value::Map();
  for (const auto& [key, value] : mapping) map.Set(key, config::Value::Text(value));
  return yaml::ToJson(map);
}

std::string Json(const std::vector<std::string>& list) {
  config::Value values = config::Value::List();
  for (const std::string& text : list) values.items.push_back(config::Value::Text(text));
  return yaml::ToJson(values);
}

// The error of the keys; empty if there is none.
std::string WrongKeys(std::string_view field, const Mapping& mapping) {
  if (std::ranges::all_of(mapping, [](const auto& entry) { return IsMetricAndLabel(entry.first); }))
    return "";
  return InvalidValue(
      field, Json(mapping),
      fmt::format("must have keys with format `metricName,labelName` where metricName matches "
                  "\"{}\" and labelName matches \"{}\"",
                  kMetricName, kLabelName));
}

// The pairs at the top level, as kube-scheduler reads them; or under allowListMapping, as its help describes.
Expected<Mapping> ReadManifest(const std::string& path) {
  constexpr std::string_view kField = "allowListMappingManifest";
  const auto fail = [&](std::string_view what, const std::string& why) {
    return Invalid(InvalidValue(kField, fmt::format("\"{}\"", path), fmt::format("{}: {}", what, why)));
  };
  const auto text = ReadWholeFile(path);
  if (!text) return fail("failed to read allow list manifest", text.error().message);
  Mapping mapping;
  if (Trimmed(*text).empty()) return mapping;
  const auto root = yaml::ParseValue(*text);
  if (!root) return fail("failed to parse allow list manifest", root.error().message);
  const config::Value* nested = root->Find("allowListMapping");
  const config::Value& pairs = nested != nullptr ? *nested : *root;
  for (const auto& [key, value] : pairs.members) {
    if (value.kind == config::Value::Kind::kMap || value.kind == config::Value::Kind::kList)
      return fail("failed to parse allow list manifest",
                  fmt::format("the value of {} is not a text; expected \"metric,label\": \"v1,v2\"", key));
    mapping.insert_or_assign(key, value.text);
  }
  if (pairs.kind != config::Value::Kind::kMap)
    return fail("failed to parse allow list manifest", "expected \"metric,label\": \"v1,v2\" in each line");
  if (const std::string wrong = WrongKeys(kField, mapping); !wrong.empty())
    return fail("invalid allow list mapping in manifest", "[" + wrong + "]");
  return mapping;
}

}  // namespace

void CheckMetrics(const MetricsFlags& flags, std::vector<std::string>& errors) {
  const std::string& shown = flags.show_hidden_for_version;
  if (!shown.empty() && shown != "1.36")
    errors.push_back(InvalidValue("showHiddenMetricsForVersion", fmt::format("\"{}\"", shown),
                                  "must be omitted or have the value '1.36'; only the previous minor version "
                                  "is allowed"));
  const auto invalid =
      std::ranges::find_if(flags.disabled, [](const std::string& name) { return !IsName(name, true); });
  if (invalid != flags.disabled.end())
    errors.push_back(
        InvalidValue("disabledMetrics", Json(flags.disabled),
                     fmt::format("must be fully qualified metric names matching \"^{}$\", got \"{}\"",
                                 kMetricName, *invalid)));
  if (std::string wrong = WrongKeys("allowListMapping", flags.allowed_labels); !wrong.empty())
    errors.push_back(std::move(wrong));
  const std::string& manifest = flags.allowed_labels_manifest;
  if (manifest.empty()) return;
  if (auto read = ReadManifest(manifest); !read) errors.push_back(read.error().message);
  if (!flags.allowed_labels.empty())
    errors.push_back(fmt::format(
        "metrics: Invalid value: {{\"allowListMapping\":{},\"allowListMappingManifest\":\"{}\"}}: cannot "
        "specify both allowListMapping and allowListMappingManifest",
        Json(flags.allowed_labels), manifest));
}

Expected<metrics::RegistryOptions> MetricsOptionsOf(const MetricsFlags& flags) {
  metrics::RegistryOptions options;
  options.tells_of_itself = true;
  options.disabled.insert(flags.disabled.begin(), flags.disabled.end());
  if (flags.show_hidden_for_version.empty())
    options.hidden.insert("scheduler_preemption_goroutines_duration_seconds");  // deprecated in 1.37.0
  Mapping allowed = flags.allowed_labels;
  if (!flags.allowed_labels_manifest.empty()) {
    BERTH_TRY(allowed, ReadManifest(flags.allowed_labels_manifest));
  }
  for (const auto& [key, values] : allowed) {
    const auto comma = key.find(',');
    auto& set = options.allowed_values[{key.substr(0, comma), key.substr(comma + 1)}];
    for (std::string_view rest = Unquoted(values); !rest.empty();) {
      const auto end = std::min(rest.find(','), rest.size());
      set.emplace(Unquoted(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return options;
}

void AddFeatureMetrics(metrics::Registry& registry, const config::FeatureGates& gates) {
  gates.ForEach([&](std::string_view gate, std::string_view stage, bool on) {
    registry
        .Gauge("kubernetes_feature_enabled",
               "[BETA] This metric records the data about the stage and enablement of a k8s feature.",
               {{"name", std::string(gate)}, {"stage", std::string(stage)}})
        .Set(on ? 1 : 0);
  });
  registry
      .Gauge(
          "version_info",
          "[ALPHA] Provides the compatibility version info of the component. The component label is the name "
          "of the component, usually kube, but is relevant for aggregated-apiservers.",
          {{"binary", "1.37.1"}, {"component", "kube"}, {"emulation", "1.37"}, {"min_compat", "1.36"}})
      .Set(1);
}

}  // namespace berth::process
