#include "tools/explain/explain.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/files.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/environment.hpp"
#include "process/extender_environment.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "process/measuring.hpp"
#include "scheduler/assembly/explainer.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "tools/explain/explanation_text.hpp"

namespace berth::explain {
Expected<int> RunExplain(const ExplainOptions& options, const runtime::Registry& built_in) {
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, options.plugins, notes);
  if (!plugins) return std::unexpected(plugins.error());
  BERTH_TRY(const auto gates, config::FeatureGates::Parse(options.feature_gates, notes));
  const auto config = process::LoadConfig(options.config, *plugins, gates);
  if (!config) return std::unexpected(config.error());
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
  if (!explainer) return std::unexpected(explainer.error());
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);

  std::vector<std::string> problems;
  for (const std::string& file : options.files) {
    const auto text = ReadWholeFile(file);
    if (!text) return std::unexpected(text.error());
    const auto loaded = (*explainer)->Load(*text, file == "-" ? "standard input" : file, problems);
    if (!loaded) return std::unexpected(loaded.error());
  }
  for (const std::string& problem : problems) fmt::print(stderr, "Skipped: {}\n", problem);

  (*explainer)->FillCluster();
  if (!options.offline) {
    const auto measured =
        process::MeasureOnce(options.sources, (*explainer)->engine().handle(), environment, clock);
    if (!measured) return std::unexpected(measured.error());
  }
  const auto evaluated = (*explainer)->Evaluate(options.pods, [&](const assembly::Explainer::Evaluated& one) {
    if (options.output == "json") {
      fmt::print("{}\n", record::ToJson(*one.record, (*explainer)->engine().reasons(), options.details));
    } else {
      fmt::print("{}\n", ExplanationText(one, (*explainer)->engine(), {.all_nodes = options.all_nodes}));
    }
  });
  if (!evaluated) return std::unexpected(evaluated.error());
  return problems.empty() ? 0 : 2;
}

}  // namespace berth::explain
