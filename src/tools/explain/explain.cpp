#include "tools/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "base/files.hpp"
#include "base/write_yaml.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/connection_config.hpp"
#include "kubernetes/client/environment.hpp"
#include "process/extender_environment.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "process/measuring.hpp"
#include "scheduler/assembly/explainer.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/explanation/explain_pod.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "tools/explain/cluster_input.hpp"
#include "tools/explain/explanation_text.hpp"
#include "tools/explain/input_check.hpp"
#include "tools/explain/pod_selection.hpp"
#include "tools/explain/running_config.hpp"
#include "tools/explain/terminal.hpp"
#include "tools/migrate/live_server.hpp"

namespace berth::explain {
namespace {

// The process' environment, and the thread for requests, which starts with the first one.
struct Surroundings {
  SystemClock clock;
  client::SystemEnvironment environment;
  std::unique_ptr<http::IoThread> io = {};

  http::IoThread& Io() {
    if (io == nullptr) io = std::make_unique<http::IoThread>(clock);
    return *io;
  }
};

struct Loaded {
  std::string ns = "default";         // of names without a namespace
  std::vector<std::string> problems;  // objects that were left out
};

bool IsText(const ExplainOptions& options) { return options.output == "text" || options.output == "wide"; }

Expected<Loaded> LoadFiles(const ExplainOptions& options, assembly::Explainer& explainer) {
  Loaded loaded;
  for (const std::string& file : options.files) {
    auto text = ReadWholeFile(file);
    if (!text && file.find('.') == std::string::npos && file != "-")
      text.error().message += fmt::format("; for a pod of this name write pod/{}", file);
    if (!text) return std::unexpected(text.error());
    BERTH_RETURN_IF_ERROR(explainer.Load(*text, file == "-" ? "standard input" : file, loaded.problems));
  }
  // A record of a cluster without nodes or pods is defined; a person has more likely forgotten them.
  if (IsText(options)) BERTH_RETURN_IF_ERROR(CheckInput(explainer.kinds()));
  return loaded;
}

// The cluster of the kubeconfig.
struct Cluster {
  std::unique_ptr<migrate::LiveServer> server;
  std::string ns;  // of the context
};

Expected<Cluster> Connect(const ExplainOptions& options, Surroundings& around) {
  BERTH_TRY(const auto where,
            client::LoadUserConnection(options.kubeconfig, options.context, around.environment));
  Cluster cluster{.server = nullptr, .ns = where.ns};
  BERTH_TRY(cluster.server, migrate::LiveServer::Open(where.config, "explain", around.Io(),
                                                      around.environment, around.clock));
  return cluster;
}

Expected<Loaded> LoadCluster(Cluster& cluster, assembly::Explainer& explainer) {
  Loaded loaded;
  loaded.ns = cluster.ns;
  std::vector<std::string> warnings;
  auto read = ReadCluster(
      *cluster.server,
      [&](const std::string& body, const std::string& path) {
        return explainer.Load(body, path, loaded.problems);
      },
      warnings);
  if (!read) return std::unexpected(std::move(read).error().In(cluster.server->url()));
  for (const std::string& warning : warnings) fmt::print(stderr, "Warning: {}\n", warning);
  return loaded;
}

// The pods to explain, in the order of the input. Named pods may have a node.
Expected<std::vector<api::PodPtr>> SelectPods(const ExplainOptions& options, const std::string& ns,
                                              const assembly::Explainer& explainer) {
  std::vector<std::string> wanted, known;
  for (const std::string& name : options.pods) {
    BERTH_TRY(wanted.emplace_back(), PodKey(name, ns));
    if (explainer.FindPod(wanted.back()) != nullptr) continue;
    for (const api::PodPtr& pod : explainer.pods()) known.push_back(pod->metadata.Key());
    return Fail(ErrorCode::kNotFound, UnknownPod(wanted.back(), known));
  }
  std::vector<api::PodPtr> pods;
  for (const api::PodPtr& pod : explainer.pods()) {
    const bool named = std::ranges::find(wanted, pod->metadata.Key()) != wanted.end();
    const bool in_namespace = options.ns.empty() || pod->metadata.ns.str() == options.ns;
    if (wanted.empty() ? pod->spec.node_name.empty() && in_namespace : named) pods.push_back(pod);
  }
  return pods;
}

void PrintRecords(const ExplainOptions& options, const std::vector<api::PodPtr>& pods,
                  assembly::Explainer& explainer) {
  for (const api::PodPtr& pod : pods) {
    const auto record = explanation::EvaluatePod(explainer.evaluator(), pod);
    const std::string json = record::ToJson(*record, explainer.engine().reasons(), options.details);
    if (options.output == "json") {
      fmt::print("{}\n", json);
    } else if (const auto tree = yaml::ParseValue(json)) {
      fmt::print("---\n{}", yaml::ToYaml(*tree));
    }
  }
}

bool DependsOnName(const api::Pod& pod) {
  return std::ranges::any_of(std::as_const(pod.spec.volumes), [](const api::Volume& volume) {
    return volume.source == api::Volume::Source::kEphemeral;
  });
}

// Pods with equal explanations: of one owner and one shape, nominated to the same node.
std::vector<std::vector<api::PodPtr>> GroupByShape(const std::vector<api::PodPtr>& pods) {
  std::vector<std::vector<api::PodPtr>> groups;
  std::map<std::string, std::vector<std::size_t>> of_owner;
  for (const api::PodPtr& pod : pods) {
    std::vector<std::size_t>& candidates = of_owner[explanation::OwnerOf(*pod)];
    const auto same = [&](std::size_t group) {
      const api::Pod& first = *groups[group].front();
      return pod->spec.node_name.empty() && first.spec.node_name.empty() && !DependsOnName(*pod) &&
             pod->status.nominated_node_name == first.status.nominated_node_name &&
             pod->metadata.deleting() == first.metadata.deleting() && cluster::SameShape(*pod, first);
    };
    const auto found = std::ranges::find_if(candidates, same);
    if (found != candidates.end()) {
      groups[*found].push_back(pod);
      continue;
    }
    candidates.push_back(groups.size());
    groups.push_back({pod});
  }
  return groups;
}

void PrintTexts(const ExplainOptions& options, const std::vector<api::PodPtr>& pods,
                assembly::Explainer& explainer, const Terminal& terminal) {
  if (pods.empty()) {
    fmt::print("No pod waits for a node{}.\n", options.ns.empty() ? "" : " in namespace " + options.ns);
    return;
  }
  const TextOptions text{
      .wide = options.output == "wide", .colour = terminal.colour, .width = terminal.width};
  std::vector<PodsOfText> explained;
  for (const std::vector<api::PodPtr>& group : GroupByShape(pods)) {
    PodsOfText one{.example = explanation::ExplainPod(explainer.evaluator(), group.front())};
    one.body = ExplanationBody(one.example, explainer.engine().reasons(), text);
    for (const api::PodPtr& pod : group) one.pods.push_back(pod->metadata.Key());
    explained.push_back(std::move(one));
  }
  const std::vector<PodsOfText> groups = GroupByText(std::move(explained));
  if (const std::string summary = SummaryText(groups, text); !summary.empty()) fmt::print("{}\n", summary);
  bool first = true;
  for (const PodsOfText& group : groups)
    fmt::print("{}{}", std::exchange(first, false) ? "" : "\n", ExplanationText(group, text));
}

struct UsedConfig {
  config::SchedulerConfig config;
  bool from_cluster = false;
};

Expected<UsedConfig> ConfigOfFile(const ExplainOptions& options, const runtime::Registry& plugins,
                                  const config::FeatureGates& gates) {
  BERTH_TRY(auto config, process::LoadConfig(options.config, plugins, gates));
  return UsedConfig{std::move(config), false};
}

// The configuration of the cluster's scheduler; else the default one. A note names it.
Expected<UsedConfig> ConfigOfCluster(const ExplainOptions& options, const runtime::Registry& plugins,
                                     Cluster& cluster, config::FeatureGates gates,
                                     std::vector<std::string>& notes) {
  const auto found =
      options.running ? Expected<RunningConfig>(*options.running) : FindRunningConfig(*cluster.server);
  std::string problem = found ? "" : found.error().message;
  if (found && options.feature_gates.empty() && !found->feature_gates.empty()) {
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

}  // namespace

Expected<int> RunExplain(const ExplainOptions& options, const runtime::Registry& built_in) {
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, options.plugins, notes);
  if (!plugins) return std::unexpected(plugins.error());
  BERTH_TRY(const auto gates, config::FeatureGates::Parse(options.feature_gates, notes));
  Surroundings around;
  Cluster cluster;
  if (options.files.empty()) {
    BERTH_TRY(cluster, Connect(options, around));
  }
  const bool of_cluster = options.files.empty() && options.config.empty();
  const auto used = of_cluster ? ConfigOfCluster(options, *plugins, cluster, gates, notes)
                               : ConfigOfFile(options, *plugins, gates);
  if (!used) return std::unexpected(used.error());
  const config::SchedulerConfig* const config = &used->config;
  const bool offline = options.offline || used->from_cluster;
  assembly::ExtenderAccess access;
  if (!config->extenders.empty()) {
    access.make_transport =
        offline ? extenders::NoTransports(options.offline
                                              ? "extenders are not called: --offline"
                                              : "extenders of the cluster's configuration are not called: "
                                                "pass it with --config")
                : extenders::HttpTransports(around.Io(), process::ExtenderEnvironment(around.environment));
  }
  const auto explainer = assembly::Explainer::Create(*config, *plugins, notes, access);
  if (!explainer) return std::unexpected(explainer.error());
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);

  const auto loaded =
      options.files.empty() ? LoadCluster(cluster, **explainer) : LoadFiles(options, **explainer);
  if (!loaded) return std::unexpected(loaded.error());
  for (const std::string& problem : loaded->problems) fmt::print(stderr, "Skipped: {}\n", problem);
  BERTH_TRY(const auto pods, SelectPods(options, options.ns.empty() ? loaded->ns : options.ns, **explainer));
  if (!options.files.empty()) {
    for (const std::string& warning : IncompleteInput((*explainer)->kinds(), pods))
      fmt::print(stderr, "Warning: {}\n", warning);
  }
  (*explainer)->FillCluster();
  if (!offline) {
    const auto measured = process::MeasureOnce(options.sources, (*explainer)->engine().handle(),
                                               around.environment, around.clock);
    if (!measured) return std::unexpected(measured.error());
  }
  if (IsText(options)) {
    PrintTexts(options, pods, **explainer, StandardOutput(around.environment));
  } else {
    PrintRecords(options, pods, **explainer);
  }
  return loaded->problems.empty() ? 0 : 2;
}

}  // namespace berth::explain
