#include "command/explain_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "command/flags.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/environment.hpp"
#include "process/extender_environment.hpp"
#include "process/files.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "process/measuring.hpp"
#include "scheduler/assembly/explainer.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "tools/explain/explanation_text.hpp"

namespace berth::command {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string config;
  std::vector<std::string> pods;
  std::string output = "text";
  bool all_nodes = false;
  bool offline = false;
  std::string sources;
  std::vector<std::string> plugins;  // shared objects
};

int PrintError(const Error& error) {
  fmt::print(stderr, "Error: {}\n", error.message);
  return 1;
}

int Explain(const Options& options, const runtime::Registry& built_in) {
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, options.plugins, notes);
  if (!plugins) return PrintError(plugins.error());
  const auto config = process::LoadConfig(options.config, *plugins);
  if (!config) return PrintError(config.error());
  const SystemClock clock;
  const client::SystemEnvironment environment;
  std::unique_ptr<http::IoThread> io;  // serves the requests to extenders
  assembly::ExtenderAccess access;
  if (!config->extenders.empty()) {
    io = std::make_unique<http::IoThread>(clock);
    access.make_transport = options.offline
                                ? extenders::NoTransports("extenders are not called: --offline")
                                : extenders::HttpTransports(*io, process::ExtenderEnvironment(environment));
  }
  auto explainer = assembly::Explainer::Create(*config, *plugins, notes, access);
  if (!explainer) return PrintError(explainer.error());
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);

  std::vector<std::string> problems;
  for (const std::string& file : options.files) {
    const auto text = process::ReadWholeFile(file);
    if (!text) return PrintError(text.error());
    const auto loaded = (*explainer)->Load(*text, file == "-" ? "standard input" : file, problems);
    if (!loaded) return PrintError(loaded.error());
  }
  for (const std::string& problem : problems) fmt::print(stderr, "Skipped: {}\n", problem);

  (*explainer)->FillCluster();
  if (!options.offline) {
    const auto measured =
        process::MeasureOnce(options.sources, (*explainer)->engine().handle(), environment, clock);
    if (!measured) return PrintError(measured.error());
  }
  const auto evaluated = (*explainer)->Evaluate(options.pods, [&](const assembly::Explainer::Evaluated& one) {
    if (options.output == "json") {
      fmt::print("{}\n", record::ToJson(*one.record, (*explainer)->engine().reasons()));
    } else {
      fmt::print("{}\n",
                 explain::ExplanationText(one, (*explainer)->engine(), {.all_nodes = options.all_nodes}));
    }
  });
  if (!evaluated) return PrintError(evaluated.error());
  return problems.empty() ? 0 : 2;
}

}  // namespace

int RunExplainCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  Options options;
  CLI::App app(
      "Explains for every pending pod of a dump where kube-scheduler v1.37.1 would place it, and why the "
      "other nodes are rejected.\n\n  kubectl get nodes,pods -A -o json > cluster.json\n  berth explain -f "
      "cluster.json\n\nEach pod is evaluated alone against the same cluster. Nothing is written to the "
      "cluster.",
      "berth explain");
  app.add_option("-f,--filename", options.files,
                 "JSON or YAML of Kubernetes objects, '-' for standard input; may be repeated")
      ->required()
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--config", options.config,
                 "KubeSchedulerConfiguration to use; default: the default configuration")
      ->type_name("FILE");
  app.add_option("--pod", options.pods, "evaluate only this pod; may be repeated")
      ->type_name("NAMESPACE/NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("-o,--output", options.output, "text, or json with one decision record per line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_flag("--all-nodes", options.all_nodes, "text: show the result of every node");
  app.add_flag("--offline", options.offline,
               "do not call the extenders of the configuration, which count as unreachable, and do not query "
               "Prometheus, so that load-aware plugins have no measurements");
  app.add_option("--berth-metric-sources", options.sources, "same as that flag of berth scheduler")
      ->type_name("FILE");
  process::AddPluginFlag(app, options.plugins);
  if (const auto code = ParseFlags(app, args)) return *code;
  return Explain(options, plugins);
}

}  // namespace berth::command
