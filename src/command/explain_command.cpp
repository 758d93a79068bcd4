#include "command/explain_command.hpp"

#include "command_line/command.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/explain/explain.hpp"
#include "tools/explain/pod_selection.hpp"

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
  flags.List("pod", "NAME", options.pods,
             "same as the argument pod/NAME; also NAMESPACE/NAME; may be repeated");
  flags.Path("kubeconfig", options.kubeconfig,
             "kubeconfig of a user that may list the objects; default: $KUBECONFIG, else ~/.kube/config");
  flags.String("context", options.context, "context of the kubeconfig; default: the current one", "NAME");
  flags.Path("config", options.config,
             "KubeSchedulerConfiguration to use; default: the default configuration");
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

int RunAs(const std::string& name, std::span<const std::string> args, const runtime::Registry& plugins) {
  explain::ExplainOptions options;
  std::vector<std::string> arguments;
  bool all_nodes = false;
  command_line::Command command(name,
                                "Explains why pods are pending, what would help, and where pods would be "
                                "placed.\n\nReads the cluster of "
                                "the kubeconfig, or files that kubectl get -o json has written. Without a "
                                "name all pods that have no node "
                                "are explained, grouped by owner. A pod that has a node is evaluated as if "
                                "it were not there. Each pod is "
                                "evaluated alone against the same cluster, as kube-scheduler v1.37.1 would "
                                "do it. Each advice is evaluated "
                                "before it is shown. Nothing is written to the cluster.");
  command.Example(name + " pod/web -n shop");
  command.Example(name);
  command.Example("kubectl get nodes,pods -A -o json > cluster.json");
  command.Example(name + " cluster.json pod/web -n shop");
  AddFlags(command.flags(), options, all_nodes);
  command.OptionalArguments("pod/NAME|FILE", arguments, "pods to explain, and files as with -f");
  if (const auto code = command.Parse(args)) return *code;
  for (const std::string& argument : arguments)
    (explain::NamesPod(argument) ? options.pods : options.files).push_back(argument);
  if (const auto checked = Check(options, all_nodes); !checked)
    return command_line::ExitCode(std::unexpected(checked.error()));
  if (all_nodes) options.output = "wide";
  return command_line::ExitCode(explain::RunExplain(options, plugins));
}

}  // namespace

int RunExplainCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  return RunAs("berth explain", args, plugins);
}

int RunKubectlPlugin(std::span<const std::string> args, const runtime::Registry& plugins) {
  command_line::Command command("kubectl berth", "Answers questions about the scheduling of pods.");
  command.Subcommand(
      "why", "explains why pods are pending and what would help",
      [&](std::span<const std::string> rest) { return RunAs("kubectl berth why", rest, plugins); });
  return command.Dispatch(args);
}

}  // namespace berth::command
