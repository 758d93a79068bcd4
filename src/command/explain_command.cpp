#include "command/explain_command.hpp"

#include <fmt/format.h>

#include <functional>

#include "command/cluster_completion.hpp"
#include "command/scheduler_access_flags.hpp"
#include "command/status_command.hpp"
#include "command/ui_command.hpp"
#include "command_line/command.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/explain/explain.hpp"
#include "tools/explain/pod_selection.hpp"
#include "tools/why/why.hpp"

namespace berth::command {
namespace {

// `all_nodes` is the former name of -o wide.
void AddFlags(command_line::FlagSet& flags, explain::ExplainOptions& options, bool& all_nodes) {
  flags.List(
      "filename", "FILE", options.files,
      "JSON or YAML of Kubernetes objects, '-' for standard input; may be repeated; default: the cluster "
      "of the kubeconfig");
  flags.Shorthand('f');
  flags.String(
      "namespace", options.ns,
      "namespace of pods that are named without one, and the only one if no pod is named; default: that "
      "of the kubeconfig's context, or all",
      "NAMESPACE");
  flags.Shorthand('n');
  flags.CompleteWith(NamespaceCompleter(options.kubeconfig, options.context));
  flags.List("pod", "NAME", options.pods,
             "same as the argument pod/NAME; also NAMESPACE/NAME; may be repeated");
  flags.CompleteWith(PendingPodCompleter(options.kubeconfig, options.context, options.ns));
  flags.Path("kubeconfig", options.kubeconfig,
             "kubeconfig of a user that may list the objects; default: $KUBECONFIG, else ~/.kube/config");
  flags.String("context", options.context, "context of the kubeconfig; default: the current one", "NAME");
  flags.Path(
      "config", options.config,
      "KubeSchedulerConfiguration to use; default: that of the cluster's scheduler if it can be read, else, "
      "and with files, the default configuration");
  flags.List("feature-gates", "GATES", options.feature_gates,
             "feature gates of the scheduler: Feature=true|false, comma-separated; may be repeated");
  flags.Choice(
      "output", options.output, {"text", "wide", "json", "yaml"},
      "text, wide with the result of every node, json with one decision record per line, or yaml with "
      "the same records");
  flags.Shorthand('o');
  flags.Bool("all-nodes", all_nodes, "same as -o wide");
  flags.Bool("details", options.details,
             "json, yaml: add details to rejected nodes, for example why their devices do not suffice; text "
             "has them");
  flags.Bool("offline", options.offline,
             "do not call the extenders of the configuration, which count as unreachable, and do not query "
             "Prometheus, so that load-aware plugins have no measurements");
  flags.Path("berth-metric-sources", options.sources, "same as that flag of berth scheduler");
  process::AddPluginFlag(flags, options.plugins);
}

Expected<void> Check(const explain::ExplainOptions& options, bool all_nodes) {
  if (all_nodes && (options.output == "json" || options.output == "yaml"))
    return Invalid("--all-nodes: -o " + options.output + " has all nodes already");
  if (options.files.empty() || (options.kubeconfig.empty() && options.context.empty())) return {};
  return Invalid(std::string(options.kubeconfig.empty() ? "--context" : "--kubeconfig") +
                 ": expected either files or a cluster, got both (file " + options.files.front() + ")");
}

// What `berth explain` and `berth why` have in common: flags, arguments and checks.
class Explanations {
 public:
  Explanations(const std::string& name, const std::string& about) : command_(name, about) {
    command_.Example(name + " pod/web -n shop");
    command_.Example(name);
    command_.Example("kubectl get nodes,pods -A -o json > cluster.json");
    command_.Example(name + " cluster.json pod/web -n shop");
    AddFlags(command_.flags(), options_, all_nodes_);
    command_.OptionalArguments("pod/NAME|FILE", arguments_, "pods to explain, and files as with -f");
    command_.CompleteArguments(PendingPodCompleter(options_.kubeconfig, options_.context, options_.ns));
  }

  command_line::FlagSet& flags() { return command_.flags(); }

  // `run` is called with the options and returns the result of the command.
  int Run(std::span<const std::string> args,
          const std::function<Expected<int>(const explain::ExplainOptions&)>& run) {
    if (const auto code = command_.Parse(args)) return *code;
    for (const std::string& argument : arguments_)
      (explain::NamesPod(argument) ? options_.pods : options_.files).push_back(argument);
    if (const auto checked = Check(options_, all_nodes_); !checked)
      return command_line::ExitCode(std::unexpected(checked.error()));
    if (all_nodes_) options_.output = "wide";
    return command_line::ExitCode(run(options_));
  }

 private:
  command_line::Command command_;
  explain::ExplainOptions options_;
  std::vector<std::string> arguments_;
  bool all_nodes_ = false;
};

constexpr const char* kAboutExplain =
    "Reads the cluster of the kubeconfig, or files that kubectl get -o json has written. Without a name all "
    "pods "
    "that have no node are explained, grouped by owner. A pod that has a node is evaluated as if it were not "
    "there. "
    "Each pod is evaluated alone against the same cluster, as kube-scheduler v1.37.1 would do it. Each "
    "advice is "
    "evaluated before it is shown. Nothing is written to the cluster.";

}  // namespace

int RunExplainCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  Explanations command("berth explain",
                       std::string("Explains why pods are pending, what would help, and where pods would be "
                                   "placed.\n\n") +
                           kAboutExplain);
  return command.Run(
      args, [&](const explain::ExplainOptions& options) { return explain::RunExplain(options, plugins); });
}

int RunWhyCommand(const std::string& name, std::span<const std::string> args,
                  const runtime::Registry& plugins) {
  why::WhyOptions options;
  Explanations command(
      name, std::string("Explains why pods are pending: their state in the running scheduler, and "
                        "what would help.\n\nFor each named pod the running scheduler reports its "
                        "place in the queue, the next retry and the last attempts. If the scheduler "
                        "cannot be reached, a note gives the reason, and only the evaluation of the "
                        "cluster follows.\n\n") +
                kAboutExplain);
  AddSchedulerAccessFlags(command.flags(), options.access);
  return command.Run(args, [&](const explain::ExplainOptions& explain) {
    options.explain = explain;
    options.access.kubeconfig = explain.kubeconfig;
    options.access.context = explain.context;
    return why::RunWhy(options, plugins);
  });
}

int RunKubectlPlugin(std::span<const std::string> args, const runtime::Registry& plugins) {
  using Arguments = std::span<const std::string>;
  command_line::Command command("kubectl berth", "Answers questions about the scheduling of pods.");
  command.Subcommand("why", "explains why pods are pending and what would help",
                     [&](Arguments rest) { return RunWhyCommand("kubectl berth why", rest, plugins); });
  command.Subcommand("status", "prints the state of the running scheduler",
                     [](Arguments rest) { return RunStatusCommand("kubectl berth status", rest); });
  command.Subcommand("queue", "prints the pods in the scheduler's queue",
                     [](Arguments rest) { return RunQueueCommand("kubectl berth queue", rest); });
  command.Subcommand("retry", "retries waiting pods at once",
                     [](Arguments rest) { return RunRetryCommand("kubectl berth retry", rest); });
  command.Subcommand("reload", "makes the scheduler read its configuration file again",
                     [](Arguments rest) { return RunReloadCommand("kubectl berth reload", rest); });
  command.Subcommand("ui", "shows the running scheduler in a browser",
                     [](Arguments rest) { return RunUiCommand("kubectl berth ui", rest); });
  return command.Dispatch(args);
}

}  // namespace berth::command
