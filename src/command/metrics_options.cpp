#include "command/metrics_options.hpp"

#include <fmt/format.h>

#include "command/files.hpp"
#include "config/value.hpp"

namespace berth::command {
namespace {

std::string_view Unquoted(std::string_view text) {
  const auto quote = [](char c) { return c == '\'' || c == '"' || c == ' '; };
  while (!text.empty() && quote(text.front())) text.remove_prefix(1);
  while (!text.empty() && quote(text.back())) text.remove_suffix(1);
  return text;
}

// "metric,label" -> "v1,v2".
Expected<void> Allow(std::string_view key, std::string_view values, metrics::RegistryOptions& options) {
  key = Unquoted(key);
  const auto comma = key.find(',');
  if (comma == key.npos)
    return Invalid(fmt::format("--allow-metric-labels: invalid key \"{}\"; expected metric,label", key));
  auto& allowed =
      options
          .allowed_values[{std::string(key.substr(0, comma)), std::string(Unquoted(key.substr(comma + 1)))}];
  allowed.clear();
  for (values = Unquoted(values); !values.empty();) {
    const auto end = std::min(values.find(','), values.size());
    allowed.emplace(Unquoted(values.substr(0, end)));
    values.remove_prefix(std::min(end + 1, values.size()));
  }
  return {};
}

Expected<void> ReadManifest(const std::string& path, metrics::RegistryOptions& options) {
  const auto fail = [&](const std::string& why) {
    return Invalid(fmt::format(
        "metrics.allowListMappingManifest: Invalid value: \"{}\": failed to read allow list manifest: {}",
        path, why));
  };
  const auto text = ReadWholeFile(path);
  if (!text) return fail(text.error().message);
  const auto root = config::ParseValue(*text);
  if (!root) return fail(root.error().message);
  const config::Value* mapping = root->Find("allowListMapping");
  if (mapping == nullptr || mapping->kind != config::Value::Kind::kMap)
    return fail("expected a map allowListMapping of \"metric,label\" to \"value,value\"");
  for (const auto& [key, values] : mapping->members) BERTH_CHECKED(Allow(key, values.text, options));
  return {};
}

}  // namespace

Expected<metrics::RegistryOptions> MetricsOptionsOf(const MetricsFlags& flags) {
  metrics::RegistryOptions options;
  options.tells_of_itself = true;
  options.disabled.insert(flags.disabled.begin(), flags.disabled.end());
  if (flags.show_hidden_for_version.empty())
    options.hidden.insert("scheduler_preemption_goroutines_duration_seconds");  // deprecated in 1.37.0
  if (!flags.allowed_labels_manifest.empty())
    BERTH_CHECKED(ReadManifest(flags.allowed_labels_manifest, options));
  for (const std::string& pair : flags.allowed_labels) {
    const auto equals = pair.find('=');
    if (equals == pair.npos) continue;
    BERTH_CHECKED(
        Allow(std::string_view(pair).substr(0, equals), std::string_view(pair).substr(equals + 1), options));
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

}  // namespace berth::command
