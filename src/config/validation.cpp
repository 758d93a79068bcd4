// The validation of kube-scheduler v1.37.1, with its order and texts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/go_duration.hpp"
#include "base/write_yaml.hpp"
#include "config/document.hpp"
#include "kubernetes/api/selectors.hpp"

namespace berth::config {
namespace {

template <class Shown>
std::string InvalidValue(std::string_view path, const Shown& value, std::string_view detail) {
  return fmt::format("{}: Invalid value: {}: {}", path, value, detail);
}

void CheckLeaderElection(const LeaderElection& election, std::vector<std::string>& errors) {
  if (!election.leader_elect) return;
  const auto positive = [&](std::string_view field, std::chrono::nanoseconds value) {
    if (value.count() <= 0)
      errors.push_back(InvalidValue(fmt::format("leaderElection.{}", field),
                                    fmt::format("\"{}\"", FormatGoDuration(value)),
                                    "must be greater than zero"));
  };
  positive("leaseDuration", election.lease_duration);
  positive("renewDeadline", election.renew_deadline);
  positive("retryPeriod", election.retry_period);
  if (election.lease_duration <= election.renew_deadline)
    errors.push_back(InvalidValue("leaderElection.leaseDuration",
                                  fmt::format("\"{}\"", FormatGoDuration(election.renew_deadline)),
                                  "must be greater than `RenewDeadline`"));
  const auto required = [&](std::string_view field, const std::string& value) {
    if (value.empty()) errors.push_back(fmt::format("leaderElection.{}: Required value", field));
  };
  required("resourceLock", election.resource_lock);
  required("resourceNamespace", election.resource_namespace);
  required("resourceName", election.resource_name);
  if (election.resource_lock != "leases")
    errors.push_back(InvalidValue("leaderElection.resourceLock",
                                  yaml::ToJson(Value::Text(election.resource_lock)),
                                  "resourceLock value must be \"leases\""));
}

// Formats as kube-scheduler's internal type.
std::string PluginSetJson(const PluginSet& set) {
  const auto list = [](const auto& items, auto&& entry) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ",") + entry(item);
    return text.empty() ? std::string("null") : "[" + text + "]";
  };
  return fmt::format(
      "{{\"Enabled\":{},\"Disabled\":{}}}",
      list(set.enabled,
           [](const PluginRef& plugin) {
             return fmt::format("{{\"Name\":\"{}\",\"Weight\":{}}}", plugin.name, plugin.weight);
           }),
      list(set.disabled,
           [](const std::string& name) { return fmt::format("{{\"Name\":\"{}\",\"Weight\":0}}", name); }));
}

// The arguments of an entry; those that a plugin has without an entry are null.
Value ArgsToCompare(const PluginConfigEntry& entry, const FeatureGates& gates, const ArgsCodecs* codecs) {
  if (!entry.args) return Value::Null();
  if (codecs != nullptr) {
    // Entries without arguments are completed by now.
    Problems ignored;
    const auto codec = codecs->find(entry.name);
    if (codec != codecs->end() && codec->second.complete(Value::Map(), gates, ignored) == *entry.args)
      return Value::Null();
  }
  return *entry.args;
}

// All profiles share one queue. As in kube-scheduler, a later profile may omit the plugin's arguments, and
// those of a plugin that multiPoint enables are not compared.
void CheckCommonQueueSort(const Document& document, const ArgsCodecs* codecs,
                          std::vector<std::string>& errors) {
  const std::vector<ProfileDocument>& profiles = document.profiles;
  const PluginSet& first = profiles.front().at(Point::kQueueSort);
  const std::string plugin = first.enabled.empty() ? "" : first.enabled.front().name;
  Value first_args = Value::Null();
  for (const PluginConfigEntry& entry : profiles.front().plugin_config) {
    if (!plugin.empty() && entry.name == plugin)
      first_args = ArgsToCompare(entry, document.config.gates, codecs);
  }
  if (first.enabled.size() > 1) {
    errors.push_back(InvalidValue("profiles[0].plugins.queueSort.Enabled", first.enabled.size(),
                                  "only one queue sort plugin can be enabled"));
  }
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    const PluginSet& set = profiles[i].at(Point::kQueueSort);
    if (set != first)
      errors.push_back(InvalidValue(fmt::format("profiles[{}].plugins.queueSort", i), PluginSetJson(set),
                                    "must be the same for all profiles"));
    for (const PluginConfigEntry& entry : profiles[i].plugin_config) {
      if (entry.name != plugin || ArgsToCompare(entry, document.config.gates, codecs) == first_args) continue;
      errors.push_back(InvalidValue(fmt::format("profiles[{}].pluginConfig.args", i),
                                    yaml::ToJson(entry.args.value_or(Value::Null())),
                                    "queueSort must be the same for all profiles"));
    }
  }
}

// Volume plugins that were replaced by the limits of CSI drivers.
bool WasRemovedFromV1(std::string_view plugin) {
  static constexpr std::string_view kRemoved[] = {"AzureDiskLimits", "CinderLimits", "EBSLimits",
                                                  "GCEPDLimits"};
  return std::ranges::find(kRemoved, plugin) != std::end(kRemoved);
}

constexpr std::string_view kRemovedText =
    "was invalid in version \"v1\" (KubeSchedulerConfiguration is version "
    "\"kubescheduler.config.k8s.io/v1\")";
constexpr std::string_view kRemovedHint = "NodeVolumeLimits counts the volumes of all CSI drivers";

void CheckRemovedPlugins(const ProfileDocument& profile, Findings& findings) {
  for (std::size_t i = 0; i < kPointCount; ++i) {
    const auto point = static_cast<Point>(i);
    if (point == Point::kMultiPoint || point == Point::kPlacementGenerate || point == Point::kPlacementScore)
      continue;
    const auto& enabled = profile.plugins[i].enabled;
    for (std::size_t k = 0; k < enabled.size(); ++k) {
      if (!WasRemovedFromV1(enabled[k].name)) continue;
      findings.errors.push_back(
          InvalidValue(fmt::format("{}.plugins.{}.enabled[{}]", profile.path, PointName(point), k),
                       fmt::format("\"{}\"", enabled[k].name), kRemovedText));
      findings.hints.emplace_back(kRemovedHint);
    }
  }
}

void CheckPluginConfig(const ProfileDocument& profile, const FeatureGates& gates, const ArgsCodecs* codecs,
                       Findings& findings) {
  std::set<std::string> seen;
  for (const PluginConfigEntry& entry : profile.plugin_config) {
    if (!seen.insert(entry.name).second)
      findings.errors.push_back(fmt::format("{}: Duplicate value: \"{}\"", entry.path, entry.name));
    if (WasRemovedFromV1(entry.name)) {
      findings.errors.push_back(InvalidValue(entry.path, fmt::format("\"{}\"", entry.name), kRemovedText));
      findings.hints.emplace_back(kRemovedHint);
      continue;
    }
    if (codecs == nullptr || !entry.args) continue;
    const auto codec = codecs->find(entry.name);
    if (codec == codecs->end() || codec->second.checked_by_plugin) continue;
    const auto wrong = codec->second.validate(*entry.args, entry.path + ".args", gates);
    findings.errors.insert(findings.errors.end(), wrong.begin(), wrong.end());
  }
}

void CheckPercentage(const std::string& path, std::int64_t value, std::vector<std::string>& errors) {
  if (value < 0 || value > 100) errors.push_back(InvalidValue(path, value, "not in valid range [0-100]"));
}

void CheckProfiles(const Document& document, const ArgsCodecs* codecs, Findings& findings) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < document.profiles.size(); ++i) {
    const ProfileDocument& profile = document.profiles[i];
    const std::string path = fmt::format("profiles[{}]", i);
    const std::string name = profile.scheduler_name.value_or("");
    if (name.empty()) findings.errors.push_back(path + ".schedulerName: Required value");
    if (profile.percentage_of_nodes_to_score)
      CheckPercentage(path + ".percentageOfNodesToScore", *profile.percentage_of_nodes_to_score,
                      findings.errors);
    CheckRemovedPlugins(profile, findings);
    CheckPluginConfig(profile, document.config.gates, codecs, findings);
    if (!names.insert(name).second) findings.errors.push_back(path + ".schedulerName: Duplicate value: {}");
  }
  CheckCommonQueueSort(document, codecs, findings.errors);
}

}  // namespace

std::string Findings::Text() const {
  if (errors.empty()) return "";
  std::vector<std::string> once;
  for (const std::string& hint : hints) {
    if (std::ranges::find(once, hint) == once.end()) once.push_back(hint);
  }
  return api::JoinErrors(errors) + (once.empty() ? "" : fmt::format("; {}", fmt::join(once, "; ")));
}

Findings Validate(const Document& document, const ArgsCodecs* codecs) {
  const SchedulerConfig& config = document.config;
  Findings findings;
  std::vector<std::string>& errors = findings.errors;
  if (config.client_connection.burst < 0)
    errors.push_back(
        InvalidValue("clientConnection.burst", config.client_connection.burst, "must be non-negative"));
  CheckLeaderElection(config.leader_election, errors);
  if (config.parallelism <= 0)
    errors.push_back(
        InvalidValue("parallelism", config.parallelism, "should be an integer value greater than zero"));
  CheckProfiles(document, codecs, findings);
  CheckPercentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score, errors);
  if (config.pod_initial_backoff.count() <= 0)
    errors.push_back(InvalidValue("podInitialBackoffSeconds", config.pod_initial_backoff.count(),
                                  "must be greater than 0"));
  if (config.pod_max_backoff < config.pod_initial_backoff)
    errors.push_back(InvalidValue("podMaxBackoffSeconds", config.pod_max_backoff.count(),
                                  "must be greater than or equal to PodInitialBackoffSeconds"));
  const auto wrong = ValidateExtenders(config.extenders);
  errors.insert(errors.end(), wrong.begin(), wrong.end());
  return findings;
}

}  // namespace berth::config
