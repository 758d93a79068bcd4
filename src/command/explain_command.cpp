#include "command/explain_command.hpp"

#include "command_line/command.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/explain/explain.hpp"

namespace berth::command {

int RunExplainCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  explain::ExplainOptions options;
  command_line::Command command(
      "berth explain",
      "Explains for every pending pod of a dump where kube-scheduler v1.37.1 would place it, and why the "
      "other nodes are rejected.\n\nEach pod is evaluated alone against the same cluster. Nothing is written "
      "to the cluster.");
  command.Example("kubectl get nodes,pods -A -o json > cluster.json");
  command.Example("berth explain -f cluster.json");
  command_line::FlagSet& flags = command.flags();
  flags.List("filename", "FILE", options.files,
             "JSON or YAML of Kubernetes objects, '-' for standard input; may be repeated");
  flags.Shorthand('f');
  flags.Require();
  flags.Path("config", options.config,
             "KubeSchedulerConfiguration to use; default: the default configuration");
  flags.List("feature-gates", "GATES", options.feature_gates,
             "feature gates of the scheduler: Feature=true|false, comma-separated; may be repeated");
  flags.List("pod", "NAMESPACE/NAME", options.pods, "evaluate only this pod; may be repeated");
  flags.Choice("output", options.output, {"text", "json"}, "text, or json with one decision record per line");
  flags.Shorthand('o');
  flags.Bool("all-nodes", options.all_nodes, "text: show the result of every node");
  flags.Bool(
      "details", options.details,
      "json: add details to rejected nodes, for example why their devices do not suffice; text has them");
  flags.Bool("offline", options.offline,
             "do not call the extenders of the configuration, which count as unreachable, and do not query "
             "Prometheus, so that load-aware plugins have no measurements");
  flags.Path("berth-metric-sources", options.sources, "same as that flag of berth scheduler");
  process::AddPluginFlag(flags, options.plugins);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(explain::RunExplain(options, plugins));
}

}  // namespace berth::command
