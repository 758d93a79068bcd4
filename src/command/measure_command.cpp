#include "command/measure_command.hpp"

#include "command_line/command.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/measure/measure.hpp"

namespace berth::command {

int RunMeasureCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  measure::MeasureOptions options;
  command_line::Command command(
      "berth measure",
      "Queries the measurements of a configuration's plugins once, and shows the values by node, the nodes "
      "without a value and the series without a node.");
  command.Example("kubectl get nodes -o json | berth measure --config scheduler.yaml -f -");
  command_line::FlagSet& flags = command.flags();
  flags.List("filename", "FILE", options.files,
             "JSON or YAML of the cluster's nodes, '-' for standard input; may be repeated");
  flags.Shorthand('f');
  flags.Require();
  flags.Path("config", options.config, "KubeSchedulerConfiguration with load-aware plugins");
  flags.Require();
  flags.Path("berth-metric-sources", options.sources, "same as that flag of berth scheduler");
  flags.Bool("values", options.values, "show the value of each node");
  process::AddPluginFlag(flags, options.plugins);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(measure::RunMeasure(options, plugins));
}

}  // namespace berth::command
