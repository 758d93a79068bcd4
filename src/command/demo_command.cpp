#include "command/demo_command.hpp"

#include "command_line/command.hpp"
#include "tools/demo/demo.hpp"

namespace berth::command {

int RunDemoCommand(std::span<const std::string> args) {
  demo::DemoOptions options;
  command_line::Command command("berth demo",
                                "Runs a simulated cluster with a scheduler and thousands of pods, and shows "
                                "where the pods are placed and why some stay pending.");
  command_line::FlagSet& flags = command.flags();
  flags.Integer("nodes", options.size.nodes, "number of ordinary nodes", {1, 100000});
  flags.Integer("gpu-nodes", options.size.gpu_nodes, "number of nodes with GPUs", {0, 10000});
  flags.Bool("gpu-claims", options.gpu_claims,
             "the GPUs are devices of a DeviceClass that provides nvidia.com/gpu, not of a device plugin");
  flags.Integer("zones", options.size.zones, "zones", {1, 26});
  flags.Integer("pods", options.pods, "number of pods to create", {1, 1000000});
  flags.Integer("seed", options.seed, "seed of all random choices");
  flags.Integer("port", options.port, "port of the cluster's API server; 0 selects a free port");
  flags.Bool("keep", options.keep, "keep the cluster running at the end");
  flags.String("scheduler-cmd", options.scheduler_command,
               "command line of another scheduler; {kubeconfig} and {config} (a KubeSchedulerConfiguration) "
               "are replaced by file names");
  if (const auto code = command.Parse(args)) return *code;
  return demo::RunDemo(options);
}

}  // namespace berth::command
