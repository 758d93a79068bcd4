#include "command/sandbox_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>

#include "command/files.hpp"
#include "command/flags.hpp"
#include "command/write_file.hpp"
#include "sandbox/sandbox.hpp"

namespace berth::command {
namespace {

struct Flags {
  sandbox::SandboxOptions sandbox;
  std::string kubeconfig;
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

void DefineFlags(CLI::App& app, Flags& flags) {
  auto& nodes = flags.sandbox.nodes;
  nodes.nodes = 10;
  flags.sandbox.port = 8001;
  app.add_option("--nodes", nodes.nodes, "simulated nodes")->capture_default_str();
  app.add_option("--zones", nodes.zones, "zones they are spread over")
      ->check(CLI::Range(1, 26))
      ->capture_default_str();
  app.add_option("--gpu-nodes", nodes.gpu_nodes, "further nodes with 8 GPUs and the taint nvidia.com/gpu")
      ->capture_default_str();
  app.add_option("--node-cpus", flags.node_cpus, "CPUs of each node (default: a mix of 8, 16 and 32)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--node-memory", flags.node_memory_gib, "GiB of memory of each node (default: 4 per CPU)")
      ->check(CLI::Range(2, 65536));
  app.add_option("--node-pods", flags.node_pods, "pods a node has room for")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--address", flags.sandbox.address, "IP address to listen on")->capture_default_str();
  app.add_option("--port", flags.sandbox.port, "port to listen on; 0 takes any that is free")
      ->capture_default_str();
  app.add_option("--kubeconfig", flags.kubeconfig, "file to write a kubeconfig to");
  app.add_flag("--https", flags.sandbox.https,
               "serve HTTPS with certificates made for the occasion; the kubeconfig has what clients need");
  app.add_option("--policy", flags.policy, "file with users, their tokens and rules (docs/guide/sandbox.md)");
  app.add_flag("--field-ownership,!--no-field-ownership", flags.sandbox.field_ownership,
               "keep metadata.managedFields (without, objects are smaller and apply never conflicts)");
  app.add_option("--seed", flags.sandbox.seed, "for everything that is random")->capture_default_str();
  app.add_option("--pod-start", flags.pod_start_seconds, "seconds from binding to Running")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--pod-stop", flags.pod_stop_seconds, "seconds from deletion to gone")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--heartbeat", flags.heartbeat_seconds,
                 "seconds between a node's lease renewals; 0 turns them off")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--watch-window", flags.sandbox.window,
                 "changes of each resource that a watch can resume from")
      ->capture_default_str();
}

sandbox::SandboxOptions Options(const Flags& flags) {
  sandbox::SandboxOptions options = flags.sandbox;
  options.kubelet.pod_start = Seconds(flags.pod_start_seconds);
  options.kubelet.pod_stop = Seconds(flags.pod_stop_seconds);
  options.kubelet.lease_every = Seconds(flags.heartbeat_seconds);
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

int Complain(std::string_view message) {
  fmt::print(stderr, "berth sandbox: {}\n", message);
  return 1;
}

void Announce(const sandbox::Sandbox& sandbox, const Flags& flags) {
  const auto& nodes = flags.sandbox.nodes;
  const std::string use = flags.kubeconfig.empty()
                              ? fmt::format("kubectl --server {} get nodes", sandbox.url())
                              : fmt::format("kubectl --kubeconfig {} get nodes", flags.kubeconfig);
  fmt::print("berth sandbox: {} nodes at {}; try: {}\n", nodes.nodes + nodes.gpu_nodes, sandbox.url(), use);
  std::fflush(stdout);
}

int Run(const Flags& flags) {
  boost::asio::io_context io(1);
  const SystemClock clock;
  auto options = Options(flags);
  if (!flags.policy.empty()) {
    const auto text = ReadWholeFile(flags.policy);
    if (!text) return Complain(text.error().message);
    auto policy = sandbox::Policy::Parse(*text);
    if (!policy) return Complain(fmt::format("{}: {}", flags.policy, policy.error().message));
    options.policy = std::make_shared<const sandbox::Policy>(std::move(*policy));
  }
  auto sandbox = sandbox::Sandbox::Start(io, clock, options);
  if (!sandbox) return Complain(sandbox.error().message);
  if (!flags.kubeconfig.empty()) {
    const auto written = WriteFileAtomically(flags.kubeconfig, (*sandbox)->Kubeconfig(), 0600);
    if (!written) return Complain(written.error().message);
  }
  Announce(**sandbox, flags);
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) (*sandbox)->Stop([&] { io.stop(); });
  });
  io.run();
  return 0;
}

}  // namespace

int RunSandboxCommand(std::span<const std::string> arguments) {
  CLI::App app("An API server with simulated nodes, in memory: a cluster to try things on.", "berth sandbox");
  Flags flags;
  DefineFlags(app, flags);
  if (const auto code = ParseFlags(app, arguments)) return *code;
  return Run(flags);
}

}  // namespace berth::command
