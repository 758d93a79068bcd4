#include "tools/explain/cluster_source.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "kubernetes/client/connection_config.hpp"
#include "process/load_config.hpp"
#include "tools/explain/read_only_server.hpp"
#include "tools/migrate/live_server.hpp"

namespace berth::explain {

Expected<ClusterSource> ClusterSource::Open(const ClusterSelection& selection, std::string_view agent,
                                            Surroundings& around) {
  if (!selection.files.empty()) return ClusterSource(selection, "default");
  BERTH_TRY(const auto where,
            client::LoadUserConnection(selection.kubeconfig, selection.context, around.environment));
  ClusterSource source(selection, where.ns);
  BERTH_TRY(auto server,
            migrate::LiveServer::Open(where.config, agent, around.Io(), around.environment, around.clock));
  source.url_ = server->url();
  source.server_ = std::make_unique<ReadOnlyServer>(std::move(server));
  return source;
}

ClusterSource::ClusterSource(const ClusterSelection& selection, std::string ns)
    : selection_(selection), ns_(std::move(ns)) {}
ClusterSource::~ClusterSource() = default;
ClusterSource::ClusterSource(ClusterSource&&) noexcept = default;

Expected<UsedConfig> ClusterSource::Config(const runtime::Registry& plugins,
                                           const config::FeatureGates& gates,
                                           std::vector<std::string>& notes) {
  if (of_cluster() && selection_.config.empty()) return ConfigOfCluster(plugins, gates, notes);
  BERTH_TRY(auto config, process::LoadConfig(selection_.config, plugins, gates));
  return UsedConfig{std::move(config), false};
}

// The configuration of the cluster's scheduler; else the default one. A note names it.
Expected<UsedConfig> ClusterSource::ConfigOfCluster(const runtime::Registry& plugins,
                                                    config::FeatureGates gates,
                                                    std::vector<std::string>& notes) {
  const auto found =
      selection_.running ? Expected<RunningConfig>(*selection_.running) : FindRunningConfig(*server_);
  std::string problem = found ? "" : found.error().message;
  if (found && selection_.feature_gates.empty() && !found->feature_gates.empty()) {
    std::vector<std::string> ignored;
    const std::vector<std::string> given = {found->feature_gates};
    if (auto parsed = config::FeatureGates::Parse(given, ignored)) gates = std::move(*parsed);
  }
  if (found && !found->text.empty()) {
    auto config = process::ReadConfig(found->text, plugins, gates);
    if (config) {
      notes.push_back("evaluated with the configuration of " + found->source);
      return UsedConfig{std::move(*config), true};
    }
    problem = fmt::format("{}: {}", found->source, config.error().message);
  }
  BERTH_TRY(auto config, process::LoadConfig("", plugins, gates));
  notes.push_back(
      found && problem.empty()
          ? "evaluated with " + found->source
          : fmt::format("evaluated with the default configuration, not with that of the cluster's "
                        "scheduler ({}); --config names another one",
                        problem));
  return UsedConfig{std::move(config), false};
}

Expected<void> ClusterSource::Load(const LoadPage& load, const Wanted& wanted,
                                   std::vector<std::string>& warnings) {
  if (of_cluster()) {
    auto read = ReadCluster(*server_, load, wanted, warnings);
    if (!read) return std::unexpected(std::move(read).error().In(url_));
    return {};
  }
  for (const std::string& file : selection_.files) {
    auto text = ReadWholeFile(file);
    if (!text && file.find('.') == std::string::npos && file != "-")
      text.error().message += fmt::format("; for a pod of this name write pod/{}", file);
    if (!text) return std::unexpected(text.error());
    BERTH_RETURN_IF_ERROR(load(*text, file == "-" ? "standard input" : file));
  }
  return {};
}

Expected<void> ClusterSource::LoadPriorityClasses(const LoadPage& load) {
  if (!of_cluster()) return {};
  return ReadPriorityClasses(*server_, load);
}

}  // namespace berth::explain
