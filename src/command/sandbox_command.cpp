#include "command/sandbox_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>

#include "command/flags.hpp"
#include "process/files.hpp"
#include "process/write_file.hpp"
#include "sandbox/cluster/sandbox.hpp"

namespace berth::command {
namespace {

struct Flags {
  sandbox::SandboxOptions sandbox;
  std::string kubeconfig;
  std::string nodes_file, load, save;
  bool nodes_given = false;
  double node_mtbf_seconds = 0;
  double node_mttr_seconds = 300;
  std::vector<std::string> failure_kinds = {"silent"};
  double node_grace_seconds = 50;
  double provision_seconds = 0.5;
  double job_seconds = 1;
  std::string policy;
  double pod_start_seconds = 0.5;
  double pod_stop_seconds = 0.5;
  double heartbeat_seconds = 10;
  std::int64_t node_cpus = 0;
  std::int64_t node_memory_gib = 0;
  std::int64_t node_pods = 110;
};

Duration Seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

void DefineNodeFlags(CLI::App& app, Flags& flags) {
  auto& nodes = flags.sandbox.nodes;
  constexpr auto kGroup = "Nodes";
  app.add_option("--nodes", nodes.nodes,
                 "number of simulated nodes; default with --nodes-file or --load: none")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--nodes-file", flags.nodes_file,
                 "YAML file with node groups: count, name, cpu, memory, zones, labels, taints, failures ...")
      ->group(kGroup);
  app.add_option("--zones", nodes.zones, "number of zones of the nodes")
      ->check(CLI::Range(1, 26))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--gpu-nodes", nodes.gpu_nodes,
                 "number of additional nodes with 8 GPUs and the taint nvidia.com/gpu")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--node-cpus", flags.node_cpus, "CPUs of each node (default: a mix of 8, 16 and 32)")
      ->check(CLI::Range(1, 4096))
      ->group(kGroup);
  app.add_option("--node-memory", flags.node_memory_gib, "GiB of memory of each node (default: 4 per CPU)")
      ->check(CLI::Range(2, 65536))
      ->group(kGroup);
  app.add_option("--node-pods", flags.node_pods, "maximum number of pods per node")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str()
      ->group(kGroup);
}

void DefineFailureFlags(CLI::App& app, Flags& flags) {
  constexpr auto kGroup = "Failures (or: kubectl annotate node NAME sandbox.berth.dev/failure=silent)";
  app.add_option("--node-mtbf", flags.node_mtbf_seconds,
                 "mean seconds between random failures of a node; 0 disables them")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--node-mttr", flags.node_mttr_seconds, "mean duration of a random failure in seconds")
      ->check(CLI::Range(0.001, 1e9))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--node-failures", flags.failure_kinds, "kinds of random failures")
      ->delimiter(',')
      ->check(CLI::IsMember(sandbox::FailureKinds()))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--node-grace-period", flags.node_grace_seconds,
                 "seconds without a heartbeat after which a node's conditions become Unknown")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str()
      ->group(kGroup);
}

void DefineSimulationFlags(CLI::App& app, Flags& flags) {
  constexpr auto kGroup = "Simulation";
  const auto seconds = [&](const std::string& name, double& value, const std::string& help) {
    app.add_option(name, value, help)->check(CLI::Range(0.0, 3600.0))->capture_default_str()->group(kGroup);
  };
  seconds("--pod-start", flags.pod_start_seconds, "seconds from binding to Running");
  seconds("--pod-stop", flags.pod_stop_seconds, "seconds from deletion to removal");
  seconds("--job-time", flags.job_seconds,
          "run time in seconds of Job pods without sleep command and without the annotation "
          "sandbox.berth.dev/run-for");
  seconds("--heartbeat", flags.heartbeat_seconds, "seconds between a node's lease renewals; 0 disables them");
  seconds("--provision-time", flags.provision_seconds, "seconds to provision a volume");
  app.add_option("--seed", flags.sandbox.seed, "seed of all random choices")
      ->capture_default_str()
      ->group(kGroup);
}

void DefineFlags(CLI::App& app, Flags& flags) {
  flags.sandbox.nodes.nodes = 10;
  flags.sandbox.port = 8001;
  app.add_option("--address", flags.sandbox.address, "IP address to listen on")->capture_default_str();
  app.add_option("--port", flags.sandbox.port, "port to listen on; 0 selects a free port")
      ->capture_default_str();
  app.add_option("--kubeconfig", flags.kubeconfig, "file to write a kubeconfig to");
  app.add_flag("--https", flags.sandbox.https,
               "serve HTTPS with generated certificates; the kubeconfig contains the client's credentials");
  app.add_option("--policy", flags.policy,
                 "file with users, tokens and access rules (docs/guide/sandbox.md)");
  app.add_flag("--controllers,!--no-controllers", flags.sandbox.controllers.workloads,
               "run the controllers of workloads, volumes, services, budgets and garbage collection "
               "(without: only those of nodes, namespaces and events)");
  app.add_flag(
      "--field-ownership,!--no-field-ownership", flags.sandbox.field_ownership,
      "maintain metadata.managedFields (without: objects are smaller and apply never reports conflicts)");
  app.add_option("--watch-window", flags.sandbox.window,
                 "number of changes per resource from which a watch can resume")
      ->capture_default_str();
  app.add_option("--load", flags.load,
                 "file with initial Kubernetes objects, YAML or JSON, as kubectl get -o yaml prints them; - "
                 "is standard input");
  app.add_option("--save", flags.save,
                 "file to which all objects are saved at the end and on SIGUSR1; JSON if its name ends in "
                 ".json, else YAML");
  DefineNodeFlags(app, flags);
  DefineFailureFlags(app, flags);
  DefineSimulationFlags(app, flags);
}

sandbox::SandboxOptions Options(const Flags& flags) {
  sandbox::SandboxOptions options = flags.sandbox;
  options.kubelet.pod_start = Seconds(flags.pod_start_seconds);
  options.kubelet.pod_stop = Seconds(flags.pod_stop_seconds);
  options.kubelet.lease_every = Seconds(flags.heartbeat_seconds);
  options.kubelet.job_time = Seconds(flags.job_seconds);
  options.controllers.node_lifecycle.grace = Seconds(flags.node_grace_seconds);
  options.controllers.volumes.provision_time = Seconds(flags.provision_seconds);
  options.nodes.failures = {Seconds(flags.node_mtbf_seconds), Seconds(flags.node_mttr_seconds),
                            flags.failure_kinds};
  const bool from_file = !flags.nodes_file.empty() || !flags.load.empty();
  if (from_file && !flags.nodes_given) options.nodes.nodes = 0;
  if (flags.node_cpus > 0 || flags.node_memory_gib > 0) {
    const std::int64_t cpus = flags.node_cpus > 0 ? flags.node_cpus : 16;
    const std::int64_t memory = flags.node_memory_gib > 0 ? flags.node_memory_gib : 4 * cpus;
    sandbox::MachineShape shape;
    shape.name = fmt::format("custom-{}", cpus);
    shape.cpus = cpus;
    shape.memory_gib = memory;
    options.nodes.shapes = {shape};
  }
  for (auto& shape : options.nodes.shapes) shape.pods = flags.node_pods;
  options.nodes.gpu_shape.pods = flags.node_pods;
  return options;
}

// Reads the files that the flags name.
Expected<sandbox::SandboxOptions> ReadOptions(const Flags& flags) {
  sandbox::SandboxOptions options = Options(flags);
  if (!flags.nodes_file.empty()) {
    BERTH_TRY(const std::string text, process::ReadWholeFile(flags.nodes_file));
    auto groups = sandbox::ParseNodeGroups(text);
    if (!groups) return std::unexpected(std::move(groups).error().In(flags.nodes_file));
    options.nodes.groups = std::move(*groups);
  }
  if (!flags.load.empty()) {
    BERTH_TRY(options.objects, process::ReadWholeFile(flags.load));
  }
  if (!flags.policy.empty()) {
    BERTH_TRY(const std::string text, process::ReadWholeFile(flags.policy));
    auto policy = sandbox::Policy::Parse(text);
    if (!policy) return std::unexpected(std::move(policy).error().In(flags.policy));
    options.policy = std::make_shared<const sandbox::Policy>(std::move(*policy));
  }
  return options;
}

int PrintError(std::string_view message) {
  fmt::print(stderr, "berth sandbox: {}\n", message);
  return 1;
}

void Announce(sandbox::Sandbox& sandbox, const Flags& flags) {
  if (!flags.load.empty()) {
    const auto& loaded = sandbox.loaded();
    fmt::print("berth sandbox: loaded {} objects from {}\n", loaded.objects, flags.load);
    for (const auto& [kind, count] : loaded.skipped)
      fmt::print("berth sandbox: skipped {} of the unknown kind {}\n", count, kind);
    if (loaded.lost_owners > 0)
      fmt::print("berth sandbox: removed {} references to owners that are not in the file\n",
                 loaded.lost_owners);
    if (loaded.made_namespaces > 0)
      fmt::print("berth sandbox: created {} namespaces that are not in the file\n", loaded.made_namespaces);
  }
  const std::string use = flags.kubeconfig.empty()
                              ? fmt::format("kubectl --server {} get nodes", sandbox.url())
                              : fmt::format("kubectl --kubeconfig {} get nodes", flags.kubeconfig);
  const std::size_t nodes = sandbox.verbs().store().All(sandbox::Known().nodes).size();
  fmt::print("berth sandbox: {} nodes at {}; try: {}\n", nodes, sandbox.url(), use);
  std::fflush(stdout);
}

Expected<void> Save(const sandbox::Sandbox& sandbox, const std::string& path) {
  const auto format = path.ends_with(".json") ? sandbox::DumpFormat::kJson : sandbox::DumpFormat::kYaml;
  return process::WriteFileAtomically(path, sandbox.Dump(format), 0600);
}

// Saves at each SIGUSR1. The signal is handled even without a file to save to: its default action would end
// the program.
void SaveOnSignal(boost::asio::signal_set& signals, const sandbox::Sandbox& sandbox,
                  const std::string& path) {
  signals.async_wait([&signals, &sandbox, &path](const boost::system::error_code& error, int) {
    if (error) return;
    if (path.empty()) {
      PrintError("SIGUSR1: cannot save: --save is not set");
    } else if (const auto saved = Save(sandbox, path); !saved) {
      PrintError(saved.error().message);
    } else {
      fmt::print("berth sandbox: saved to {}\n", path);
      std::fflush(stdout);
    }
    SaveOnSignal(signals, sandbox, path);
  });
}

int Run(const Flags& flags) {
  boost::asio::io_context io(1);
  const SystemClock clock;
  const auto options = ReadOptions(flags);
  if (!options) return PrintError(options.error().message);
  auto sandbox = sandbox::Sandbox::Start(io, clock, *options);
  if (!sandbox && sandbox.error().code == ErrorCode::kConflict)
    return PrintError(sandbox.error().message + "; --port=0 selects a free port");
  if (!sandbox) {
    const bool in_file = !flags.load.empty() && sandbox.error().code == ErrorCode::kInvalid;
    return PrintError(in_file ? fmt::format("{}: {}", flags.load, sandbox.error().message)
                              : sandbox.error().message);
  }
  if (!flags.kubeconfig.empty()) {
    const auto written = process::WriteFileAtomically(flags.kubeconfig, (*sandbox)->Kubeconfig(), 0600);
    if (!written) return PrintError(written.error().message);
  }
  Announce(**sandbox, flags);
  boost::asio::signal_set save_signals(io, SIGUSR1);
  SaveOnSignal(save_signals, **sandbox, flags.save);
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  int code = 0;
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    if (!flags.save.empty()) {
      if (const auto saved = Save(**sandbox, flags.save); !saved) code = PrintError(saved.error().message);
    }
    (*sandbox)->Stop([&] { io.stop(); });
  });
  io.run();
  return code;
}

}  // namespace

int RunSandboxCommand(std::span<const std::string> arguments) {
  CLI::App app(
      "Runs an in-memory API server with simulated nodes and controllers: a cluster for tests and "
      "experiments.",
      "berth sandbox");
  Flags flags;
  DefineFlags(app, flags);
  if (const auto code = ParseFlags(app, arguments)) return *code;
  flags.nodes_given = app.count("--nodes") > 0;
  return Run(flags);
}

}  // namespace berth::command
