#include "tools/what_if/what_if.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/progress_line.hpp"
#include "base/redact.hpp"
#include "base/text_layout.hpp"
#include "kubernetes/api/owners.hpp"
#include "observability/log/log.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "process/signals.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/loaded_cluster.hpp"
#include "tools/explain/input_check.hpp"
#include "tools/explain/terminal.hpp"
#include "tools/scheduler_access/configz.hpp"
#include "tools/what_if/report.hpp"

namespace berth::what_if {
namespace {

struct Input {
  std::unique_ptr<assembly::LoadedCluster> cluster;
  config::SchedulerConfig config;
  std::string ns;
  std::vector<std::string> left_out;
  bool complete = true;  // every object could be read
};

// Extenders may act on what they are asked; they see only the real cluster.
void LeaveOutExtenders(config::SchedulerConfig& config, std::vector<std::string>& left_out) {
  for (const config::ExtenderConfig& extender : config.extenders)
    left_out.push_back(fmt::format("extender {}, which is not called", RedactUrl(extender.url_prefix)));
  config.extenders.clear();
}

// The configuration to compare with, before the cluster is read: an error in it costs no time.
Expected<std::optional<config::SchedulerConfig>> OtherConfig(const WhatIfOptions& options,
                                                             const runtime::Registry& plugins) {
  if (options.compare_config.empty()) return std::nullopt;
  std::vector<std::string> ignored;  // ReadInput reports them
  BERTH_TRY(const auto gates, config::FeatureGates::Parse(options.feature_gates, ignored));
  BERTH_TRY(config::SchedulerConfig config, process::LoadConfig(options.compare_config, plugins, gates));
  config.extenders.clear();
  return config;
}

// What the plugins of one or more configurations read.
struct Needs {
  api::RetainedFields retained;
  std::vector<std::string> resources = {};  // of other projects, by qualified name
};

void Add(const api::RetainedFields& more, api::RetainedFields& retained) {
  retained.annotations.insert(retained.annotations.end(), more.annotations.begin(), more.annotations.end());
  retained.texts.nodes |= more.texts.nodes;
  retained.texts.waiting_pods |= more.texts.waiting_pods;
  retained.texts.placed_pods |= more.texts.placed_pods;
}

Expected<void> AddNeeds(const config::SchedulerConfig& config, const runtime::Registry& plugins,
                        std::vector<std::string>& left_out, Needs& needs) {
  assembly::DryRunPorts ports;
  std::vector<std::string> ignored;  // the notes of the scenario are the same
  BERTH_TRY(const auto engine, assembly::Engine::Build(config, plugins, ports.ports(), ignored));
  // An engine without measurements places pods as load-aware plugins do while they have none.
  if (engine->handle().signals.size() > 0) left_out.emplace_back("measurements of load-aware plugins");
  Add(engine->retained_fields(), needs.retained);
  const std::vector<std::string>& resources = engine->handle().requested_resources;
  needs.resources.insert(needs.resources.end(), resources.begin(), resources.end());
  return {};
}

// The cluster to read, with the configuration of the scheduler that the options name.
Expected<explain::ClusterSelection> SelectionOf(const WhatIfOptions& options, explain::Surroundings& around) {
  explain::ClusterSelection selection = options;
  if (options.access.server.empty() && options.access.lease.empty()) return selection;
  scheduler_access::AccessOptions access = options.access;
  access.kubeconfig = options.kubeconfig;
  access.context = options.context;
  BERTH_TRY(auto scheduler, scheduler_access::SchedulerConnection::Open(
                                access, {around.Io(), around.environment, around.clock}));
  BERTH_TRY(std::string text, scheduler_access::ReadConfigz(scheduler));
  selection.running = explain::RunningConfig{
      .text = std::move(text), .feature_gates = "", .source = scheduler.where() + " (/configz)"};
  return selection;
}

Expected<Input> ReadInput(const WhatIfOptions& options,
                          const std::optional<config::SchedulerConfig>& other_config,
                          const runtime::Registry& plugins, explain::Surroundings& around,
                          std::vector<std::string>& notes) {
  BERTH_TRY(const auto gates, config::FeatureGates::Parse(options.feature_gates, notes));
  BERTH_TRY(const explain::ClusterSelection selection, SelectionOf(options, around));
  BERTH_TRY(explain::ClusterSource source, explain::ClusterSource::Open(selection, "what-if", around));
  BERTH_TRY(explain::UsedConfig used, source.Config(plugins, gates, notes));
  Input input{.cluster = nullptr, .config = std::move(used.config), .ns = options.ns, .left_out = {}};
  if (input.ns.empty()) input.ns = source.ns();
  LeaveOutExtenders(input.config, input.left_out);
  Needs needs{.retained = {.annotations = {std::string(api::kMirrorAnnotation)}}};
  BERTH_RETURN_IF_ERROR(AddNeeds(input.config, plugins, input.left_out, needs));
  if (other_config) {
    std::vector<std::string> same;
    BERTH_RETURN_IF_ERROR(AddNeeds(*other_config, plugins, same, needs));
  }
  input.cluster = std::make_unique<assembly::LoadedCluster>(needs.retained);
  std::vector<std::string> problems, warnings;
  const explain::LoadPage load = [&](const std::string& text, const std::string& name) {
    return input.cluster->Load(text, name, problems);
  };
  const explain::Wanted wanted = [&](const client::Resource& resource) {
    return resource.IsWatched(input.config.gates, needs.resources);
  };
  BERTH_RETURN_IF_ERROR(source.Load(load, wanted, warnings));
  if (auto read = source.LoadPriorityClasses(load); !read)
    warnings.push_back(read.error().message + "; new pods with such a class are rejected");
  for (const std::string& warning : warnings) fmt::print(stderr, "Warning: {}\n", warning);
  for (const std::string& problem : problems) fmt::print(stderr, "Skipped: {}\n", problem);
  if (!source.of_cluster()) {
    BERTH_RETURN_IF_ERROR(explain::CheckInput(input.cluster->kinds()));
    for (const std::string& warning : explain::IncompleteInput(input.cluster->kinds(), input.cluster->pods()))
      fmt::print(stderr, "Warning: {}\n", warning);
  }
  input.complete = problems.empty();
  return input;
}

std::string SizeText(const assembly::LoadedCluster& cluster) {
  return fmt::format("{} nodes, {} pods", WithCommas(cluster.nodes().size()),
                     WithCommas(cluster.pods().size()));
}

// The question about nodes needs many scenarios; their notes were printed with the first one.
Expected<NodeMix> AskNodesNeeded(const WhatIfOptions& options, std::vector<NodeShape> shapes,
                                 const ScenarioParts& parts, ProgressLine& progress) {
  const MakeScenario make = [&]() -> Expected<std::unique_ptr<Scenario>> {
    std::vector<std::string> ignored;
    BERTH_TRY(auto scenario, Scenario::Build(parts, ignored));
    for (const Change& change : options.changes) BERTH_RETURN_IF_ERROR(scenario->Apply(change));
    if (parts.stop.load()) return Fail(ErrorCode::kCancelled, "interrupted");
    return scenario;
  };
  return FindNodesNeeded(make, shapes, [&](const std::string& text) { progress.Show(text); });
}

}  // namespace

Expected<int> RunWhatIf(const WhatIfOptions& options, const runtime::Registry& built_in) {
  // A kind of nodes without a price would be free, and so always part of the cheapest mix.
  if (!options.prices.empty() && !options.shapes.empty()) {
    return Invalid(fmt::format(
        "--prices: {} has no price; expected either --prices FILE or --nodes-needed with --like or "
        "--node-file, got both; add the node to {}",
        options.shapes.front().name, options.prices));
  }
  log::SetVerbosity(-1);
  std::atomic<bool> stop{false};
  process::Signals signals;
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, options.plugins, notes);
  if (!plugins) return std::unexpected(plugins.error());
  signals.OnFirst([&stop] { stop.store(true); });
  std::vector<NodeShape> shapes = options.shapes;
  if (!options.prices.empty()) {
    BERTH_TRY(const auto priced, ReadPrices(options.prices));
    shapes.insert(shapes.end(), priced.begin(), priced.end());
  }
  BERTH_TRY(const auto other_config, OtherConfig(options, *plugins));
  explain::Surroundings around;
  ProgressLine progress;
  progress.Show("reading the cluster");
  BERTH_TRY(const Input input, ReadInput(options, other_config, *plugins, around, notes));

  FileTexts files;
  const ScenarioParts parts{*input.cluster, input.config, *plugins, input.ns, options.seed, files, stop};
  progress.Show("placing pods: " + SizeText(*input.cluster));
  BERTH_TRY(const auto scenario, Scenario::Build(parts, notes));
  progress.Clear();
  for (const std::string& note : notes) fmt::print(stderr, "Note: {}\n", note);
  for (const std::string& text : input.left_out) fmt::print(stderr, "Not considered: {}\n", text);
  Report report{
      .scenario = *scenario, .seed = options.seed, .changes = {}, .waiting = {}, .left_out = input.left_out};
  for (const Change& change : options.changes) {
    progress.Show(TextOf(change));
    BERTH_TRY(report.changes.emplace_back(), scenario->Apply(change));
  }
  const explain::Terminal terminal = explain::StandardOutput(around.environment);
  const explain::TextOptions text{.colour = terminal.colour, .width = terminal.width};
  report.followed = scenario->followed().size();
  progress.Show("explaining the pods that wait");
  report.waiting = ExplainWaiting(*scenario, scenario->Waiting(), text);
  // Before the replicas of the question.
  const assembly::ClusterContents contents = scenario->Contents();
  if (!options.how_many.empty()) {
    BERTH_TRY(report.how_many, AskHowMany(*scenario, options.how_many, text, [&](std::size_t fits) {
                progress.Show(fmt::format("{} replicas fit", WithCommas(fits)));
              }));
  }
  if (options.consolidate) {
    BERTH_TRY(report.consolidation,
              FindConsolidation(contents, input.config, *plugins, stop, [&](std::size_t tried) {
                progress.Show(fmt::format("{} nodes tried", WithCommas(tried)));
              }));
  }
  if (other_config) {
    const ComparedPods pods = options.running_pods ? ComparedPods::kAll : ComparedPods::kPending;
    BERTH_TRY(report.comparison,
              CompareConfigs(contents, input.config, *other_config, *plugins, pods, stop,
                             [&](std::size_t compared) {
                               progress.Show(fmt::format("{} pods compared", WithCommas(compared)));
                             }));
  }
  if (!shapes.empty()) {
    BERTH_TRY(report.nodes_needed, AskNodesNeeded(options, shapes, parts, progress));
  }
  progress.Clear();
  if (stop.load()) return Fail(ErrorCode::kCancelled, "interrupted");
  fmt::print("{}", options.output == "json" ? ReportJson(report) : ReportText(report, text));
  return input.complete ? 0 : 2;
}

}  // namespace berth::what_if
