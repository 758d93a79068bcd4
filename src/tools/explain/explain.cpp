#include "tools/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/write_yaml.hpp"
#include "process/extender_environment.hpp"
#include "process/loaded_plugins.hpp"
#include "process/measuring.hpp"
#include "scheduler/assembly/explainer.hpp"
#include "scheduler/evaluation/group_explainer.hpp"
#include "scheduler/explanation/explain_pod.hpp"
#include "scheduler/explanation/explanation_json.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "tools/explain/cluster_source.hpp"
#include "tools/explain/explanation_text.hpp"
#include "tools/explain/input_check.hpp"
#include "tools/explain/pod_selection.hpp"
#include "tools/explain/shape_groups.hpp"
#include "tools/explain/terminal.hpp"

namespace berth::explain {
namespace {

bool IsText(const ExplainOptions& options) { return options.output == "text" || options.output == "wide"; }

Expected<void> LoadObjects(const ExplainOptions& options, const config::SchedulerConfig& config,
                           ClusterSource& source, assembly::Explainer& explainer,
                           std::vector<std::string>& problems) {
  std::vector<std::string> warnings;
  BERTH_RETURN_IF_ERROR(source.Load(
      [&](const std::string& text, const std::string& name) { return explainer.Load(text, name, problems); },
      [&](const client::Resource& resource) {
        return resource.IsWatched(config.gates, explainer.engine().handle().requested_resources);
      },
      warnings));
  for (const std::string& warning : warnings) fmt::print(stderr, "Warning: {}\n", warning);
  // A record of a cluster without nodes or pods is defined; a person has more likely forgotten them.
  if (!source.of_cluster() && IsText(options)) return CheckInput(explainer.kinds());
  return {};
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

// The group with which a pod is explained. A pod with a node is explained on its own, also as a member.
std::optional<std::string> WaitingGroupOf(const api::Pod& pod, assembly::PodEvaluator& evaluator) {
  if (!pod.spec.node_name.empty() || pod.terminal()) return std::nullopt;
  return evaluation::GroupOf(evaluator, pod);
}

// What one explanation is about.
struct Subject {
  std::string group;  // empty: pods of one shape
  std::vector<api::PodPtr> pods;
};

// Groups in the order of their first pods, then the other pods by shape.
std::vector<Subject> SubjectsOf(const std::vector<api::PodPtr>& pods, assembly::PodEvaluator& evaluator) {
  std::vector<Subject> subjects;
  std::map<std::string, std::size_t> groups;
  std::vector<api::PodPtr> single;
  for (const api::PodPtr& pod : pods) {
    const auto key = WaitingGroupOf(*pod, evaluator);
    if (!key) {
      single.push_back(pod);
      continue;
    }
    const auto [known, added] = groups.try_emplace(*key, subjects.size());
    if (added) subjects.push_back({*key, {}});
    subjects[known->second].pods.push_back(pod);
  }
  for (std::vector<api::PodPtr>& alike : GroupByShape(single)) subjects.push_back({"", std::move(alike)});
  return subjects;
}

void PrintJson(const ExplainOptions& options, const std::string& json) {
  if (options.output == "json") {
    fmt::print("{}\n", json);
  } else if (const auto tree = yaml::ParseValue(json)) {
    fmt::print("---\n{}", yaml::ToYaml(*tree));
  }
}

// A record for each pod, and one entry for each group in place of its waiting members.
void PrintRecords(const ExplainOptions& options, const std::vector<api::PodPtr>& pods,
                  assembly::Explainer& explainer) {
  std::set<std::string> printed;
  for (const api::PodPtr& pod : pods) {
    if (const auto key = WaitingGroupOf(*pod, explainer.evaluator())) {
      if (printed.insert(*key).second)
        PrintJson(options, explanation::GroupJson(evaluation::ExplainGroup(explainer.evaluator(), *key)));
      continue;
    }
    const auto record = explanation::EvaluatePod(explainer.evaluator(), pod);
    PrintJson(options, record::ToJson(*record, explainer.engine().reasons(), options.details));
  }
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
  for (const Subject& subject : SubjectsOf(pods, explainer.evaluator())) {
    if (!subject.group.empty()) {
      explained.push_back(GroupText(evaluation::ExplainGroup(explainer.evaluator(), subject.group),
                                    explainer.engine().reasons(), text));
      continue;
    }
    PodsOfText one{.example = explanation::ExplainPod(explainer.evaluator(), subject.pods.front())};
    one.body = ExplanationBody(one.example, explainer.engine().reasons(), text);
    for (const api::PodPtr& pod : subject.pods) one.pods.push_back(pod->metadata.Key());
    explained.push_back(std::move(one));
  }
  const std::vector<PodsOfText> groups = GroupByText(std::move(explained));
  if (const std::string summary = SummaryText(groups, text); !summary.empty()) fmt::print("{}\n", summary);
  bool first = true;
  for (const PodsOfText& group : groups)
    fmt::print("{}{}", std::exchange(first, false) ? "" : "\n", ExplanationText(group, text));
}

}  // namespace

Expected<int> RunExplain(const ExplainOptions& options, const runtime::Registry& built_in) {
  std::vector<std::string> notes;
  const auto plugins = process::WithLoadedPlugins(built_in, options.plugins, notes);
  if (!plugins) return std::unexpected(plugins.error());
  BERTH_TRY(const auto gates, config::FeatureGates::Parse(options.feature_gates, notes));
  Surroundings around;
  BERTH_TRY(ClusterSource source, ClusterSource::Open(options, "explain", around));
  BERTH_TRY(const UsedConfig used, source.Config(*plugins, gates, notes));
  const config::SchedulerConfig* const config = &used.config;
  const bool offline = options.offline || used.from_cluster;
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

  std::vector<std::string> problems;  // objects that were left out
  BERTH_RETURN_IF_ERROR(LoadObjects(options, *config, source, **explainer, problems));
  for (const std::string& problem : problems) fmt::print(stderr, "Skipped: {}\n", problem);
  BERTH_TRY(const auto pods, SelectPods(options, options.ns.empty() ? source.ns() : options.ns, **explainer));
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
  return problems.empty() ? 0 : 2;
}

}  // namespace berth::explain
