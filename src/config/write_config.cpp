#include "config/write_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>

#include "base/go_duration.hpp"
#include "base/redact.hpp"
#include "base/write_yaml.hpp"
#include "config/versions/version.hpp"

namespace berth::config {
namespace {

Value WriteLeaderElection(const LeaderElection& election) {
  Value out = Value::Map();
  out.Set("leaderElect", Value::Bool(election.leader_elect));
  out.Set("leaseDuration", Value::Text(FormatGoDuration(election.lease_duration)));
  out.Set("renewDeadline", Value::Text(FormatGoDuration(election.renew_deadline)));
  out.Set("retryPeriod", Value::Text(FormatGoDuration(election.retry_period)));
  out.Set("resourceLock", Value::Text(election.resource_lock));
  out.Set("resourceName", Value::Text(election.resource_name));
  out.Set("resourceNamespace", Value::Text(election.resource_namespace));
  return out;
}

Value WriteClientConnection(const ClientConnection& connection) {
  Value out = Value::Map();
  out.Set("kubeconfig", Value::Text(connection.kubeconfig));
  out.Set("acceptContentTypes", Value::Text(connection.accept_content_types));
  out.Set("contentType", Value::Text(connection.content_type));
  out.Set("qps", Value::Float(connection.qps));
  out.Set("burst", Value::Number(connection.burst));
  return out;
}

Value WritePlugin(const std::string& name, std::int64_t weight) {
  Value out = Value::Map();
  out.Set("name", Value::Text(name));
  out.Set("weight", Value::Number(weight));
  return out;
}

Value WritePluginSet(const PluginSet& set) {
  Value out = Value::Map();
  if (!set.enabled.empty()) {
    Value& list = out.Set("enabled", Value::List());
    for (const PluginRef& plugin : set.enabled) list.items.push_back(WritePlugin(plugin.name, plugin.weight));
  }
  if (!set.disabled.empty()) {
    Value& list = out.Set("disabled", Value::List());
    for (const std::string& name : set.disabled) list.items.push_back(WritePlugin(name, 0));
  }
  return out;
}

Value WriteProfile(const Profile& profile, const ArgsCodecs& codecs) {
  Value out = Value::Map();
  out.Set("schedulerName", Value::Text(profile.scheduler_name));
  if (profile.percentage_of_nodes_to_score)
    out.Set("percentageOfNodesToScore", Value::Number(*profile.percentage_of_nodes_to_score));
  Value& plugins = out.Set("plugins", Value::Map());
  for (std::size_t i = 0; i < kPointCount; ++i)
    plugins.Set(PointName(static_cast<Point>(i)), WritePluginSet(profile.plugins[i]));

  Value list = Value::List();
  for (const auto& [name, given] : profile.plugin_args) {
    if (!profile.Enables(name)) continue;
    Value args = given;
    if (const auto codec = codecs.find(name); codec != codecs.end()) {
      if (codec->second.in_tree) args.Set("apiVersion", Value::Text(ApiVersion(Version::kV1)));
      if (codec->second.in_tree) args.Set("kind", Value::Text(codec->second.kind));
    }
    Value& entry = list.items.emplace_back(Value::Map());
    entry.Set("name", Value::Text(name));
    entry.Set("args", std::move(args));
  }
  if (!list.items.empty()) out.Set("pluginConfig", std::move(list));
  return out;
}

Value Write(const SchedulerConfig& config, const ArgsCodecs& codecs) {
  Value out = Value::Map();
  out.Set("apiVersion", Value::Text(ApiVersion(Version::kV1)));
  out.Set("kind", Value::Text(std::string(kKind)));
  out.Set("parallelism", Value::Number(config.parallelism));
  out.Set("leaderElection", WriteLeaderElection(config.leader_election));
  out.Set("clientConnection", WriteClientConnection(config.client_connection));
  out.Set("enableProfiling", Value::Bool(config.enable_profiling));
  out.Set("enableContentionProfiling", Value::Bool(config.enable_contention_profiling));
  out.Set("percentageOfNodesToScore", Value::Number(config.percentage_of_nodes_to_score));
  out.Set("podInitialBackoffSeconds", Value::Number(config.pod_initial_backoff.count()));
  out.Set("podMaxBackoffSeconds", Value::Number(config.pod_max_backoff.count()));
  if (config.delay_cache_until_active) out.Set("delayCacheUntilActive", Value::Bool(true));
  Value& profiles = out.Set("profiles", Value::List());
  for (const Profile& profile : config.profiles) profiles.items.push_back(WriteProfile(profile, codecs));
  if (!config.extenders.empty()) {
    Value& extenders = out.Set("extenders", Value::List());
    for (const ExtenderConfig& extender : config.extenders)
      extenders.items.push_back(WriteExtender(extender));
  }
  return out;
}

// Arguments of plugins that are not Berth's are covered as well: by the usual names of fields, and by URLs.
void RedactSecrets(Value& value, std::string_view name = "") {
  constexpr std::string_view kSecrets[] = {"keyData", "password", "token", "bearerToken"};
  for (auto& [key, member] : value.members) RedactSecrets(member, key);
  for (Value& item : value.items) RedactSecrets(item, name);
  if (value.kind != Value::Kind::kString || value.text.empty()) return;
  const bool secret = std::ranges::any_of(
      kSecrets, [&](std::string_view known) { return boost::algorithm::iequals(known, name); });
  value.text = secret ? "REDACTED" : RedactUrl(value.text);
}

}  // namespace

std::string WriteConfigYaml(const SchedulerConfig& config, const ArgsCodecs& codecs) {
  return yaml::ToYaml(Write(config, codecs));
}

std::string WriteConfigForLog(const SchedulerConfig& config, const ArgsCodecs& codecs) {
  Value out = Write(config, codecs);
  RedactSecrets(out);
  return yaml::ToYaml(out);
}

std::string WriteConfigz(const SchedulerConfig& config, const ArgsCodecs& codecs) {
  Value out = Value::Map();
  out.Set("componentconfig", Write(config, codecs));
  RedactSecrets(out);
  return yaml::ToJson(out);
}

std::string NoteOnWrittenLimits(const SchedulerConfig& config) {
  const ClientConnection& connection = config.client_connection;
  if (connection.limits_given) return "";
  return fmt::format(
      "clientConnection: the written qps {} and burst {} limit requests; remove both for no limit",
      connection.qps, connection.burst);
}

}  // namespace berth::config
