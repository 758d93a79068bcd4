#include "command/sandbox_command.hpp"

#include <chrono>

#include "base/clock.hpp"
#include "command_line/command.hpp"
#include "sandbox/cluster/run.hpp"

namespace berth::command {
namespace {

void DefineNodeFlags(command_line::FlagSet& flags, sandbox::RunOptions& options, std::size_t& nodes) {
  flags.Section("Nodes");
  flags.Integer("nodes", nodes, "number of simulated nodes; default with --nodes-file or --load: none");
  flags.Path(
      "nodes-file", options.nodes_file,
      "YAML file with node groups: count, name, cpu, memory, zones, labels, taints, devices, failures ...");
  flags.Integer("zones", options.sandbox.nodes.zones, "number of zones of the nodes", {1, 26});
  flags.Integer("gpu-nodes", options.sandbox.nodes.gpu_nodes,
                "number of additional nodes with 8 GPUs and the taint nvidia.com/gpu");
  flags.Bool("gpu-claims", options.sandbox.nodes.gpu_claims,
             "the GPUs are devices of the driver gpu.example.com for resource claims; its DeviceClass also "
             "provides nvidia.com/gpu");
  flags.Integer("node-cpus", options.node_cpus, "CPUs of each node; default: a mix of 8, 16 and 32",
                {1, 4096});
  flags.Integer("node-memory", options.node_memory_gib, "GiB of memory of each node; default: 4 per CPU",
                {2, 65536});
  flags.Integer("node-pods", options.node_pods, "maximum number of pods per node", {1, 100000});
}

void DefineFailureFlags(command_line::FlagSet& flags, sandbox::RunOptions& options) {
  sandbox::FailurePlan& failures = options.sandbox.nodes.failures;
  flags.Section("Failures (or: kubectl annotate node NAME sandbox.berth.dev/failure=silent)");
  flags.Duration("node-mtbf", failures.between,
                 "mean time between random failures of a node; 0 disables them",
                 {Duration::zero(), std::chrono::hours(100'000)});
  flags.Duration("node-mttr", failures.lasts, "mean duration of a random failure",
                 {std::chrono::milliseconds(1), std::chrono::hours(100'000)});
  flags.Choices("node-failures", failures.kinds, sandbox::FailureKinds(), "kinds of random failures");
  flags.Duration("node-grace-period", options.sandbox.controllers.node_lifecycle.grace,
                 "time without a heartbeat after which a node's conditions become Unknown",
                 {std::chrono::seconds(1), std::chrono::hours(24)});
}

void DefineSimulationFlags(command_line::FlagSet& flags, sandbox::SandboxOptions& options) {
  constexpr command_line::Range<Duration> kUpToAnHour{Duration::zero(), std::chrono::hours(1)};
  sandbox::KubeletOptions& kubelet = options.kubelet;
  flags.Section("Simulation");
  flags.Duration("pod-start", kubelet.pod_start, "time from binding to Running", kUpToAnHour);
  flags.Duration("pod-stop", kubelet.pod_stop, "time from deletion to removal, at most the grace period",
                 kUpToAnHour);
  flags.Duration("job-time", kubelet.job_time,
                 "run time of Job pods without sleep command and without the annotation "
                 "sandbox.berth.dev/run-for",
                 kUpToAnHour);
  flags.Duration("heartbeat", kubelet.lease_every, "time between a node's lease renewals; 0 disables them",
                 kUpToAnHour);
  flags.Duration("provision-time", options.controllers.volumes.provision_time, "time to provision a volume",
                 kUpToAnHour);
  flags.Integer("seed", options.seed, "seed of all random choices");
}

void DefineFlags(command_line::FlagSet& flags, sandbox::RunOptions& options, std::size_t& nodes) {
  sandbox::SandboxOptions& sandbox = options.sandbox;
  flags.String("address", sandbox.address, "IP address to listen on");
  flags.Integer("port", sandbox.port, "port to listen on; 0 selects a free port");
  flags.Path("kubeconfig", options.kubeconfig,
             "file to write a kubeconfig to; a file that no sandbox has written is not replaced");
  flags.Bool("scheduler", options.scheduler, "also run berth scheduler for the sandbox");
  flags.Bool("https", sandbox.https,
             "serve HTTPS with generated certificates; the kubeconfig contains the client's credentials");
  flags.Path("policy", options.policy, "file with users, tokens and access rules (docs/guide/sandbox.md)");
  flags.Bool("controllers", sandbox.controllers.workloads,
             "run the controllers of workloads, volumes, services, budgets and garbage collection (without: "
             "only those of nodes, namespaces and events)");
  flags.NegatedBool("no-controllers", sandbox.controllers.workloads, "same as --controllers=false");
  flags.Bool(
      "field-ownership", sandbox.field_ownership,
      "maintain metadata.managedFields (without: objects are smaller and apply never reports conflicts)");
  flags.NegatedBool("no-field-ownership", sandbox.field_ownership, "same as --field-ownership=false");
  flags.Integer("watch-window", sandbox.window,
                "number of changes per resource from which a watch can resume");
  flags.Path("load", options.load,
             "file with initial Kubernetes objects, YAML or JSON, as kubectl get -o yaml prints them; - is "
             "standard input");
  flags.Path("save", options.save,
             "file to which all objects are saved at the end and on SIGUSR1; JSON if its name ends in .json, "
             "else YAML");
  DefineNodeFlags(flags, options, nodes);
  DefineFailureFlags(flags, options);
  DefineSimulationFlags(flags, sandbox);
}

}  // namespace

int RunSandboxCommand(std::span<const std::string> args) {
  sandbox::RunOptions options;
  options.sandbox.port = 8001;
  std::size_t nodes = sandbox::kDefaultNodes;
  command_line::Command command(
      "berth sandbox",
      "Runs an in-memory API server with simulated nodes and controllers: a cluster "
      "for tests and experiments.");
  command.Example("berth sandbox --nodes 20 --scheduler --kubeconfig /tmp/sandbox");
  command.Example("kubectl --kubeconfig /tmp/sandbox get nodes");
  DefineFlags(command.flags(), options, nodes);
  if (const auto code = command.Parse(args)) return *code;
  if (command.flags().IsSet("nodes")) options.nodes = nodes;
  return sandbox::RunSandbox(options);
}

}  // namespace berth::command
