#include "command/what_if_command.hpp"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <utility>

#include "command/cluster_completion.hpp"
#include "command/scheduler_access_flags.hpp"
#include "command_line/command.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/what_if/changes_file.hpp"
#include "tools/what_if/what_if.hpp"

namespace berth::command {
namespace {

using what_if::Change;
using what_if::WhatIfOptions;

constexpr const char* kAboutWhatIf =
    "Shows what the scheduler would do after changes of the cluster: where pods would be placed, which would "
    "wait and why, and which would be preempted. The changes are made to a copy of the cluster, in their "
    "order; "
    "after each one the production scheduler places pods until nothing changes any more, and controllers "
    "replace "
    "pods that are evicted. Nothing is written to the cluster. Without changes, the pods that wait now are "
    "placed. With --server or --lease the configuration is read from the running scheduler.";

// A flag whose every occurrence is one more change.
void AddChange(command_line::FlagSet& flags, std::string name, std::string type, std::string help,
               std::function<Expected<void>(const std::string&)> set) {
  flags.Add({.name = std::move(name),
             .type = std::move(type),
             .help = std::move(help),
             .set = std::move(set),
             .show = [] { return std::string(); }});
}

// A change that consists of one text.
template <class Parse>
std::function<Expected<void>(const std::string&)> Append(WhatIfOptions& options, Parse parse) {
  return [&options, parse](const std::string& text) -> Expected<void> {
    if (text.empty()) return Invalid("expected a value, got none");
    BERTH_TRY(auto change, Expected<Change>(parse(text)));
    options.changes.push_back(std::move(change));
    return {};
  };
}

Expected<std::size_t> CountOf(const std::string& text, std::size_t least, std::size_t most) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc() && end == text.data() + text.size() && count >= least && count <= most)
    return count;
  return Invalid(fmt::format("expected a number from {} to {}", least, most));
}

// The change that the last flag began; null: it is of another kind.
template <class T>
T* Last(WhatIfOptions& options) {
  return options.changes.empty() ? nullptr : std::get_if<T>(&options.changes.back());
}

void AddNodeChanges(command_line::FlagSet& flags, WhatIfOptions& options) {
  constexpr std::size_t kMostNodes = 100'000;
  flags.Section("Changes of nodes, in their order on the command line");
  AddChange(flags, "add-nodes", "COUNT", "add nodes; --like or --node-file after it describes them",
            [&options](const std::string& text) -> Expected<void> {
              BERTH_TRY(const std::size_t count, CountOf(text, 1, kMostNodes));
              options.changes.emplace_back(what_if::AddNodes{.count = count, .like = "", .file = ""});
              return {};
            });
  // After --nodes-needed they describe the nodes of that question.
  const auto describe = [&options](std::string what_if::AddNodes::* field,
                                   std::string what_if::NodeShape::* needed) {
    return [&options, field, needed](const std::string& text) -> Expected<void> {
      if (!options.shapes.empty() && options.shapes.back().name.empty()) {
        options.shapes.back().*needed = text;
        options.shapes.back().name = text;
        return {};
      }
      auto* const change = Last<what_if::AddNodes>(options);
      if (change == nullptr || !change->like.empty() || !change->file.empty())
        return Invalid("expected after --add-nodes COUNT or --nodes-needed, once");
      change->*field = text;
      return {};
    };
  };
  AddChange(
      flags, "like", "NODE",
      "after --add-nodes or --nodes-needed: the new nodes are copies of this one, with its DaemonSet pods",
      describe(&what_if::AddNodes::like, &what_if::NodeShape::like));
  AddChange(flags, "node-file", "FILE",
            "after --add-nodes or --nodes-needed: the new nodes are copies of the Node in this file",
            describe(&what_if::AddNodes::file, &what_if::NodeShape::file));
  AddChange(flags, "remove-node", "NODE", "remove a node with its pods",
            Append(options, [](const std::string& node) { return what_if::RemoveNode{node}; }));
  AddChange(flags, "cordon", "NODE", "mark a node as unschedulable",
            Append(options, [](const std::string& node) { return what_if::Cordon{node, true}; }));
  AddChange(flags, "uncordon", "NODE", "mark a node as schedulable",
            Append(options, [](const std::string& node) { return what_if::Cordon{node, false}; }));
  AddChange(
      flags, "drain", "NODE",
      "cordon a node and evict its pods as the PodDisruptionBudgets allow; pods of DaemonSets and static "
      "pods stay",
      Append(options, [](const std::string& node) { return what_if::Drain{node}; }));
  AddChange(flags, "label-node", "NODE:LABEL",
            "set a label of a node: NODE:key=value, or remove one: NODE:key-",
            Append(options, what_if::ParseLabel));
  AddChange(flags, "taint-node", "NODE:TAINT",
            "add a taint to a node: NODE:key=value:Effect, or remove one: NODE:key- or NODE:key:Effect-",
            Append(options, what_if::ParseTaint));
}

void AddPodChanges(command_line::FlagSet& flags, WhatIfOptions& options) {
  constexpr std::size_t kMostPods = 1'000'000;
  flags.Section(
      "Changes of pods; PODS is a pod's name or KIND/NAME of a controller, after NAMESPACE/ if needed");
  AddChange(flags, "add-pods", "FILE",
            "add the pods of a manifest: of Pods, Deployments, StatefulSets, ReplicaSets and Jobs",
            Append(options, [](const std::string& file) { return what_if::AddPods{file, std::nullopt}; }));
  AddChange(flags, "replicas", "COUNT", "after --add-pods: the number of pods of each workload",
            [&options](const std::string& text) -> Expected<void> {
              BERTH_TRY(const std::size_t count, CountOf(text, 0, kMostPods));
              auto* const change = Last<what_if::AddPods>(options);
              if (change == nullptr) return Invalid("expected after --add-pods FILE");
              change->replicas = count;
              return {};
            });
  AddChange(flags, "delete-pods", "PODS", "delete a pod, or a controller with its pods",
            Append(options, [](const std::string& text) -> Expected<Change> {
              BERTH_TRY(auto pods, what_if::ParsePods(text));
              return what_if::DeletePods{std::move(pods)};
            }));
  AddChange(flags, "set-requests", "PODS:REQUESTS",
            "replace pods by ones with other requests of the first container: PODS:cpu=2,memory=4Gi",
            Append(options, what_if::ParseRequests));
  AddChange(flags, "set-priority", "PODS:PRIORITY", "replace pods by ones with another priority",
            Append(options, what_if::ParsePriority));
}

void AddFlags(command_line::FlagSet& flags, WhatIfOptions& options) {
  flags.List(
      "dump", "FILE", options.files,
      "JSON or YAML of Kubernetes objects, '-' for standard input; may be repeated; default: the cluster of "
      "the kubeconfig");
  flags.Path("kubeconfig", options.kubeconfig,
             "kubeconfig of a user that may list the objects; default: $KUBECONFIG, else ~/.kube/config");
  flags.String("context", options.context, "context of the kubeconfig; default: the current one", "NAME");
  flags.String("namespace", options.ns,
               "namespace of pods that are named without one; default: that of the kubeconfig's context",
               "NAMESPACE");
  flags.Shorthand('n');
  flags.CompleteWith(NamespaceCompleter(options.kubeconfig, options.context));
  flags.Path(
      "config", options.config,
      "KubeSchedulerConfiguration to use; default: that of the scheduler that --server or --lease names, "
      "else that of the cluster's scheduler if it can be read, else, and with files, the default "
      "configuration");
  flags.List("feature-gates", "GATES", options.feature_gates,
             "feature gates of the scheduler: Feature=true|false, comma-separated; may be repeated");
  flags.Integer("seed", options.seed, "seed of the choice between equal nodes");
  flags.Choice("output", options.output, {"text", "json"}, "format of the answer");
  flags.Shorthand('o');
  process::AddPluginFlag(flags, options.plugins);
  AddSchedulerAccessFlags(flags, options.access);
  AddNodeChanges(flags, options);
  AddPodChanges(flags, options);
  flags.Section("Changes from a file");
  AddChange(flags, "apply", "FILE", "make the changes of a file of kind Changes",
            [&options](const std::string& file) -> Expected<void> {
              BERTH_TRY(const auto changes, what_if::ReadChanges(file));
              options.changes.insert(options.changes.end(), changes.begin(), changes.end());
              return {};
            });
  flags.Section("Questions, after all changes");
  flags.Path("how-many", options.how_many,
             "how many replicas of the first pod of this manifest fit, and what stops the next one");
  flags.Add(
      {.name = "nodes-needed",
       .type = "",
       .help =
           "how many nodes the pods that wait need; --like or --node-file after it describes the nodes, or "
           "--prices several kinds of them",
       .set = [&options](const std::string& text) -> Expected<void> {
         if (text != "true") return Invalid("expected no value");
         options.shapes.emplace_back();
         return {};
       },
       .show = [] { return std::string(); },
       .bare = "true"});
  flags.Path("prices", options.prices,
             "the same with the kinds of nodes and the prices in this file: a cheap mix of them");
  flags.Bool("consolidate", options.consolidate,
             "which nodes could be emptied under the PodDisruptionBudgets, with the moves; nothing is moved");
  flags.Path("compare-config", options.compare_config,
             "KubeSchedulerConfiguration to compare with: which pending pods would be placed differently");
  flags.Bool("running-pods", options.running_pods,
             "with --compare-config: also pods that have a node, each evaluated as if it were not there");
}

Expected<void> Check(WhatIfOptions& options) {
  for (const Change& change : options.changes) {
    const auto* nodes = std::get_if<what_if::AddNodes>(&change);
    if (nodes != nullptr && nodes->like.empty() && nodes->file.empty())
      return Invalid(
          fmt::format("--add-nodes {}: expected --like NODE or --node-file FILE after it", nodes->count));
  }
  if (!options.prices.empty() && options.shapes.size() == 1 && options.shapes.front().name.empty()) {
    options.shapes.clear();
  }
  if (options.running_pods && options.compare_config.empty())
    return Invalid("--running-pods: expected --compare-config FILE with it");
  for (const what_if::NodeShape& shape : options.shapes) {
    if (shape.name.empty())
      return Invalid("--nodes-needed: expected --like NODE, --node-file FILE or --prices FILE after it");
  }
  if (const bool server = !options.access.server.empty(); server || !options.access.lease.empty()) {
    const char* const flag = server ? "--server" : "--lease";
    if (!options.config.empty())
      return Invalid(
          fmt::format("{}: the configuration is that of this scheduler or of --config, got both", flag));
    if (!options.files.empty())
      return Invalid(
          fmt::format("{}: expected a cluster, got files (--dump {})", flag, options.files.front()));
  }
  if (options.files.empty() || (options.kubeconfig.empty() && options.context.empty())) return {};
  return Invalid(fmt::format("{}: expected either files or a cluster, got both (--dump {})",
                             options.kubeconfig.empty() ? "--context" : "--kubeconfig",
                             options.files.front()));
}

}  // namespace

int RunWhatIfCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  WhatIfOptions options;
  command_line::Command command("berth what-if", kAboutWhatIf);
  command.Example("berth what-if --drain worker-7");
  command.Example("berth what-if --remove-node worker-7 --add-nodes 2 --like worker-8");
  command.Example("berth what-if --how-many web.yaml -o json");
  command.Example("berth what-if --dump cluster.json --add-pods web.yaml --replicas 50");
  AddFlags(command.flags(), options);
  if (const auto code = command.Parse(args)) return *code;
  if (const auto checked = Check(options); !checked)
    return command_line::ExitCode(std::unexpected(checked.error()));
  return command_line::ExitCode(what_if::RunWhatIf(options, plugins));
}

}  // namespace berth::command
