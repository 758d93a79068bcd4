#include "command/simulate_command.hpp"

#include "command_line/command.hpp"
#include "process/loaded_plugins.hpp"
#include "tools/simulate/simulate.hpp"

namespace berth::command {

int RunSimulateCommand(std::span<const std::string> args, const runtime::Registry& plugins) {
  simulate::SimulateOptions options;
  command_line::Command command("berth simulate",
                                "Runs the scheduler on virtual time with a workload: nodes, pods that arrive "
                                "and end, failures, or a recorded "
                                "trace. Reports time to bind, queue lengths, use and fragmentation of nodes, "
                                "preemptions and spreading; several "
                                "configurations are compared on the same input. The same seed gives the same "
                                "output. Ctrl-C ends the run and "
                                "reports the time until then (exit code 2).");
  command.Example("berth simulate workload.yaml");
  command.Example(
      "berth simulate workload.yaml --config spread.yaml --config pack.yaml --report comparison.html");
  command.Example("berth simulate performance-config.yaml --test SchedulingBasic/5000Nodes");
  command_line::FlagSet& flags = command.flags();
  flags.List("config", "FILE", options.configs,
             "KubeSchedulerConfiguration to use; may be repeated; default: the default configuration");
  flags.String(
      "test", options.test,
      "the file is a performance-config.yaml of kube-scheduler's scheduler_perf: run this test of it; "
      "list: print all",
      "CASE/WORKLOAD");
  flags.Integer("seed", options.seed,
                "seed of arrivals, lifetimes, failures and the choice between equal nodes");
  flags.Path("report", options.report, "also write the report as one HTML file with plots");
  flags.Path("placements", options.placements, "also write every binding as a line of this CSV file");
  flags.Path("checkpoint", options.checkpoint,
             "store the result of each finished configuration in this file, for --resume");
  flags.Bool("resume", options.resume,
             "continue with the file of --checkpoint: finished configurations are not run again");
  std::string recording;
  flags.Path("recording", recording,
             "also record the scheduler in this directory, for berth replay; only with one configuration");
  flags.Size("recording-limit", options.recording.limit_bytes,
             "size limit of the recording; the oldest files are removed, and the latest part is kept");
  flags.Choice("output", options.output, {"text", "json"}, "format of the report on standard output");
  flags.Shorthand('o');
  flags.List("feature-gates", "GATES", options.feature_gates,
             "feature gates of the scheduler: Feature=true|false, comma-separated; may be repeated");
  process::AddPluginFlag(flags, options.plugins);
  command.Argument("WORKLOAD.yaml", options.workload,
                   "workload file or performance-config.yaml, '-' for standard input");
  if (const auto code = command.Parse(args)) return *code;
  options.recording.directory = recording;
  return command_line::ExitCode(simulate::RunSimulate(options, plugins));
}

}  // namespace berth::command
