#include "process/effective_config.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "process/load_config.hpp"
#include "process/policy_config_map.hpp"

namespace berth::process {
namespace {

using config::SchedulerConfig;

void ApplyLeaderElection(const SchedulerFlags& flags, const command_line::FlagSet& table,
                         config::LeaderElection& election) {
  const config::LeaderElection& given = flags.leader_election;
  const auto take = [&](const char* name, auto& to, const auto& from) {
    if (table.IsSet(name)) to = from;
  };
  take("lock-object-name", election.resource_name, flags.old.lock_object_name);
  take("lock-object-namespace", election.resource_namespace, flags.old.lock_object_namespace);
  take("leader-elect", election.leader_elect, given.leader_elect);
  take("leader-elect-lease-duration", election.lease_duration, given.lease_duration);
  take("leader-elect-renew-deadline", election.renew_deadline, given.renew_deadline);
  take("leader-elect-retry-period", election.retry_period, given.retry_period);
  take("leader-elect-resource-lock", election.resource_lock, given.resource_lock);
  take("leader-elect-resource-name", election.resource_name, given.resource_name);
  take("leader-elect-resource-namespace", election.resource_namespace, given.resource_namespace);
}

// Without a file the flags define the connection to the API server.
config::ClientConnection ConnectionByFlags(const SchedulerFlags& flags, const command_line::FlagSet& table) {
  config::ClientConnection connection = flags.client;
  connection.limits_given = table.IsSet("kube-api-qps") || table.IsSet("kube-api-burst");
  return connection;
}

void ApplyDeprecated(const SchedulerFlags& flags, const command_line::FlagSet& table,
                     SchedulerConfig& config) {
  config.client_connection = ConnectionByFlags(flags, table);
  config.enable_profiling = flags.profiling;
  config.enable_contention_profiling = flags.contention_profiling;
  config::Profile& profile = config.profiles.front();
  if (table.IsSet("scheduler-name")) profile.scheduler_name = flags.old.scheduler_name;
  if (table.IsSet("hard-pod-affinity-symmetric-weight")) {
    profile.plugin_args["InterPodAffinity"].Set("hardPodAffinityWeight",
                                                config::Value::Number(flags.old.hard_pod_affinity_weight));
    profile.args_paths["InterPodAffinity"] = "--hard-pod-affinity-symmetric-weight";
  }
}

Expected<SchedulerConfig> FromFile(const std::string& path, const runtime::Registry& plugins,
                                   const config::FeatureGates& gates, AdjustElection adjust,
                                   std::optional<std::string> text = {}) {
  if (!text) {
    BERTH_TRY(text, ReadWholeFile(path));
  }
  auto config = ReadConfig(*text, plugins, gates, std::move(adjust));
  if (!config) config.error().message += "; in " + path;
  return config;
}

Expected<SchedulerConfig> FromConfigMap(const SchedulerFlags& flags, const command_line::FlagSet& table,
                                        const runtime::Registry& plugins, const config::FeatureGates& gates,
                                        AdjustElection adjust) {
  BERTH_TRY(const std::string text, ReadPolicyConfigMap(flags, ConnectionByFlags(flags, table)));
  auto config = ReadConfig(text, plugins, gates, std::move(adjust));
  if (!config)
    config.error().message +=
        fmt::format("; in ConfigMap {}/{}", flags.old.policy_configmap_namespace, flags.old.policy_configmap);
  return config;
}

// Of two Policies the one in the ConfigMap takes precedence, unless --use-legacy-policy-config is set.
Expected<SchedulerConfig> Base(const SchedulerFlags& flags, const command_line::FlagSet& table,
                               const runtime::Registry& plugins, const config::FeatureGates& gates,
                               const AdjustElection& adjust, const std::optional<std::string>& config_text) {
  const OldFlags& old = flags.old;
  const bool policy = !old.policy_config_file.empty();
  if (!flags.config.empty() && !(policy && old.use_legacy_policy_config))
    return FromFile(flags.config, plugins, gates, adjust, config_text);
  if (!old.policy_configmap.empty() && !(policy && old.use_legacy_policy_config))
    return FromConfigMap(flags, table, plugins, gates, adjust);
  if (policy) return FromFile(old.policy_config_file, plugins, gates, adjust);
  if (old.algorithm_provider.empty()) return LoadConfig("", plugins, gates);
  // That version of the file has an equivalent field.
  return ReadConfig(
      fmt::format("apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
                  "algorithmSource: {{provider: {}}}\n",
                  old.algorithm_provider),
      plugins, gates);
}

}  // namespace

Expected<SchedulerConfig> EffectiveConfig(const SchedulerFlags& flags, const command_line::FlagSet& table,
                                          const runtime::Registry& plugins, const config::FeatureGates& gates,
                                          const std::optional<std::string>& config_text) {
  const auto adjust = [&](config::LeaderElection& election) { ApplyLeaderElection(flags, table, election); };
  BERTH_TRY(SchedulerConfig config, Base(flags, table, plugins, gates, adjust, config_text));
  if (flags.config.empty()) ApplyDeprecated(flags, table, config);
  if (config.client_connection.kubeconfig.empty())
    config.client_connection.kubeconfig = flags.client.kubeconfig;
  ApplyLeaderElection(flags, table, config.leader_election);
  return config;
}

}  // namespace berth::process
