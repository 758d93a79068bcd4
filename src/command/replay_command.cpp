#include "command/replay_command.hpp"

#include "command_line/command.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/replay/replay.hpp"

namespace berth::command {

int RunReplayCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  replay::ReplayOptions options;
  command_line::Command command(
      "berth replay",
      "Repeats what a scheduler recorded with --berth-recording-dir: the same objects, times and results of "
      "writes, with the same code. The decisions must be the same; the first one that differs is printed "
      "(exit code 1). With --config, each recorded decision is made again with another configuration in the "
      "cluster as it was then, and the report says which ones differ and why. With --pod, the cluster as the "
      "scheduler saw it before a decision about that pod is printed, for berth explain -f and berth what-if "
      "--dump. Needs no cluster.");
  command.Example("berth replay /var/lib/berth/recording");
  command.Example("berth replay /var/lib/berth/recording --config changed.yaml");
  command.Example("berth replay /var/lib/berth/recording --pod shop/web > cluster.json");
  command.Example("berth replay /var/lib/berth/recording --print-config > config.yaml");
  command_line::FlagSet& flags = command.flags();
  flags.Path("config", options.config,
             "compare with the decisions of this KubeSchedulerConfiguration instead of repeating");
  flags.String("pod", options.pod, "print the cluster before a decision about this pod instead of comparing",
               "[NAMESPACE/]NAME");
  flags.Integer<std::uint64_t>("attempt", options.attempt,
                               "with --pod: which of the pod's scheduling attempts, from 1; 0: the last one");
  flags.Bool("print-config", options.print_config,
             "print the configuration with which the scheduler recorded, and do nothing else");
  flags.Choice("output", options.output, {"text", "json"}, "format of the result");
  flags.Shorthand('o');
  process::AddPluginFlag(flags, options.plugins);
  command.Argument("DIRECTORY", options.directory, "directory of the recording");
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(replay::RunReplay(options, plugins));
}

}  // namespace berth::command
