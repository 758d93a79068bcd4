#include "sandbox/cluster/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstdio>
#include <utility>

#include "base/files.hpp"
#include "base/go_duration.hpp"
#include "sandbox/cluster/kubeconfig.hpp"
#include "sandbox/cluster/scheduler_child.hpp"

namespace berth::sandbox {
namespace {

void SetShapes(const RunOptions& run, NodePoolOptions& nodes) {
  if (run.node_cpus > 0 || run.node_memory_gib > 0) {
    const std::int64_t cpus = run.node_cpus > 0 ? run.node_cpus : 16;
    const std::int64_t memory = run.node_memory_gib > 0 ? run.node_memory_gib : 4 * cpus;
    MachineShape shape;
    shape.name = fmt::format("custom-{}", cpus);
    shape.cpus = cpus;
    shape.memory_gib = memory;
    nodes.shapes = {shape};
  }
  for (auto& shape : nodes.shapes) shape.pods = run.node_pods;
  nodes.gpu_shape.pods = run.node_pods;
}

// Protects the kubeconfig of another cluster from a mistyped --kubeconfig.
Expected<void> CheckKubeconfig(const std::string& path) {
  const auto text = path.empty() ? Expected<std::string>() : ReadWholeFile(path);
  if (!text) return {};  // there is none, or an error follows when it is written
  const std::vector<std::string> foreign = ForeignClusters(*text);
  if (foreign.empty()) return {};
  return Fail(
      ErrorCode::kAlreadyExists,
      fmt::format(
          "--kubeconfig: {} exists and was not written by a sandbox (it has {}); name a new file NEW, "
          "and for kubectl export KUBECONFIG={}:NEW to use both",
          path, fmt::join(foreign, ", "), path));
}

// Checks the options and reads the files that they name.
Expected<SandboxOptions> ReadOptions(const RunOptions& run) {
  SandboxOptions options = run.sandbox;
  const Duration heartbeat = options.kubelet.lease_every, grace = options.controllers.node_lifecycle.grace;
  if (heartbeat >= grace) {
    return Invalid(fmt::format("--heartbeat={} must be shorter than --node-grace-period={}",
                               FormatGoDuration(heartbeat), FormatGoDuration(grace)));
  }
  const bool from_file = !run.nodes_file.empty() || !run.load.empty();
  options.nodes.nodes = run.nodes.value_or(from_file ? 0 : kDefaultNodes);
  SetShapes(run, options.nodes);
  if (!run.nodes_file.empty()) {
    BERTH_TRY(const std::string text, ReadWholeFile(run.nodes_file));
    auto groups = ParseNodeGroups(text);
    if (!groups) return std::unexpected(std::move(groups).error().In(run.nodes_file));
    options.nodes.groups = std::move(*groups);
  }
  if (!run.load.empty()) {
    BERTH_TRY(options.objects, ReadWholeFile(run.load));
  }
  if (!run.policy.empty()) {
    BERTH_TRY(const std::string text, ReadWholeFile(run.policy));
    auto policy = Policy::Parse(text);
    if (!policy) return std::unexpected(std::move(policy).error().In(run.policy));
    options.policy = std::make_shared<const Policy>(std::move(*policy));
  }
  return options;
}

int PrintError(std::string_view message) {
  fmt::print(stderr, "berth sandbox: {}\n", message);
  return 1;
}

void Announce(Sandbox& sandbox, const RunOptions& options) {
  if (!options.load.empty()) {
    const auto& loaded = sandbox.loaded();
    fmt::print("berth sandbox: loaded {} objects from {}\n", loaded.objects, options.load);
    for (const auto& [kind, count] : loaded.skipped)
      fmt::print("berth sandbox: skipped {} of the unknown kind {}\n", count, kind);
    if (loaded.lost_owners > 0)
      fmt::print("berth sandbox: removed {} references to owners that are not in the file\n",
                 loaded.lost_owners);
    if (loaded.made_namespaces > 0)
      fmt::print("berth sandbox: created {} namespaces that are not in the file\n", loaded.made_namespaces);
  }
  const std::string use = options.kubeconfig.empty()
                              ? fmt::format("kubectl --server {} get nodes", sandbox.url())
                              : fmt::format("kubectl --kubeconfig {} get nodes", options.kubeconfig);
  const std::size_t nodes = sandbox.verbs().store().All(Known().nodes).size();
  fmt::print("berth sandbox: {} nodes at {}; try: {}\n", nodes, sandbox.url(), use);
  std::fflush(stdout);
}

Expected<void> Save(const Sandbox& sandbox, const std::string& path) {
  const auto format = path.ends_with(".json") ? DumpFormat::kJson : DumpFormat::kYaml;
  return WriteFileAtomically(path, sandbox.Dump(format), 0600);
}

// Saves at each SIGUSR1. The signal is handled even without a file to save to: its default action would end
// the program.
void SaveOnSignal(boost::asio::signal_set& signals, const Sandbox& sandbox, const std::string& path) {
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

// Stops the sandbox when the scheduler has ended.
void Observe(SchedulerChild& scheduler, boost::asio::steady_timer& timer, std::function<void()> ended) {
  timer.expires_after(std::chrono::milliseconds(200));
  timer.async_wait([&scheduler, &timer, ended = std::move(ended)](const boost::system::error_code& error) {
    if (error) return;
    if (!scheduler.Ended()) return Observe(scheduler, timer, ended);
    PrintError(scheduler.EndText());
    ended();
  });
}

}  // namespace

int RunSandbox(const RunOptions& run) {
  boost::asio::io_context io(1);
  const SystemClock clock;
  if (const auto usable = CheckKubeconfig(run.kubeconfig); !usable) return PrintError(usable.error().message);
  const auto options = ReadOptions(run);
  if (!options) return PrintError(options.error().message);
  auto sandbox = Sandbox::Start(io, clock, *options);
  if (!sandbox && sandbox.error().code == ErrorCode::kConflict)
    return PrintError(sandbox.error().message + "; --port=0 selects a free port");
  if (!sandbox) {
    const bool in_file = !run.load.empty() && sandbox.error().code == ErrorCode::kInvalid;
    return PrintError(in_file ? fmt::format("{}: {}", run.load, sandbox.error().message)
                              : sandbox.error().message);
  }
  if (!run.kubeconfig.empty()) {
    const auto written = WriteFileAtomically(run.kubeconfig, (*sandbox)->Kubeconfig(), 0600);
    if (!written) return PrintError(written.error().message);
  }
  // Before the announcement: a client that has read it may send signals.
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  boost::asio::signal_set save_signals(io, SIGUSR1);
  SaveOnSignal(save_signals, **sandbox, run.save);
  Announce(**sandbox, run);
  int code = 0;
  bool finishing = false;
  std::optional<SchedulerChild> scheduler;
  boost::asio::steady_timer timer(io);
  const auto finish = [&] {
    if (std::exchange(finishing, true)) return;
    timer.cancel();
    signals.cancel();
    scheduler.reset();
    if (!run.save.empty()) {
      if (const auto saved = Save(**sandbox, run.save); !saved) code = PrintError(saved.error().message);
    }
    (*sandbox)->Stop([&] { io.stop(); });
  };
  if (run.scheduler) {
    auto started = SchedulerChild::Start((*sandbox)->Kubeconfig());
    if (!started) return PrintError(started.error().message);
    scheduler.emplace(std::move(*started));
    fmt::print("berth sandbox: a scheduler runs; its log: {}\n", scheduler->log());
    std::fflush(stdout);
    Observe(*scheduler, timer, [&] {
      code = 1;
      finish();
    });
  }
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) finish();
  });
  io.run();
  return code;
}

}  // namespace berth::sandbox
