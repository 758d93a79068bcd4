// Placements per second of a simulation on virtual time: pods of a few shapes arrive at random, run and end;
// the whole scheduler takes part. The peak of resident memory shows that memory depends on the pods that
// exist at the same time, not on the number of placements.
//
//   bench_simulation [--nodes 5000] [--shapes 5] [--placements 500000] [--live 20000] [--rounds 3] [--json]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "bench/measuring.hpp"
#include "command_line/command.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "tools/simulate/run.hpp"
#include "tools/simulate/workload_file.hpp"

namespace berth::bench {
namespace {

struct Parameters {
  std::size_t nodes = 5000;
  std::size_t shapes = 5;
  std::size_t placements = 500'000;
  std::size_t live = 20'000;  // pods that exist at the same time, on average
};

constexpr double kPerSecond = 5000;  // arrivals in virtual time

std::string WorkloadText(const Parameters& parameters) {
  const double seconds = static_cast<double>(parameters.placements) / kPerSecond;
  std::string text = fmt::format(
      "apiVersion: {}\nkind: Workload\nduration: {:.3f}s\nnodes:\n"
      "- {{name: node, count: {}, zones: [a, b, c], capacity: {{cpu: \"16\", memory: 64Gi}}}}\npods:\n",
      simulate::kApiVersion, seconds, parameters.nodes);
  for (std::size_t i = 1; i <= parameters.shapes; ++i) {
    text += fmt::format(
        "- name: shape-{0}\n  arrivals: [{{rate: {1:.3f}/s}}]\n  lifetime: {{mean: {2:.3f}s}}\n  template: "
        "{{spec: "
        "{{containers: [{{name: main, resources: {{requests: {{cpu: {3}m, memory: {4}Mi}}}}}}]}}}}\n",
        i, kPerSecond / static_cast<double>(parameters.shapes),
        static_cast<double>(parameters.live) / kPerSecond, 100 * i, 256 * i);
  }
  return text;
}

struct Measured {
  double wall_seconds = 0, cpu_seconds = 0;
  std::uint64_t bound = 0;
};

Measured RunOnce(const simulate::Workload& workload, const runtime::Registry& plugins) {
  const std::atomic<bool> stop{false};
  const double cpu = CpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  const auto result = simulate::RunWorkload(workload, config::DefaultSchedulerConfig({}, &plugins.codecs()),
                                            plugins, {.configuration = "default"}, stop, {});
  if (!result) Stop(result.error().message);
  return {.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          .cpu_seconds = CpuSeconds() - cpu,
          .bound = result->Sum(&simulate::KindResult::bound)};
}

double PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  using namespace berth::bench;
  KeepFreedMemory();
  Parameters parameters;
  std::size_t rounds = 3;
  bool json = false;
  berth::command_line::Command command("bench_simulation",
                                       "Placements per second of a simulation on virtual time.");
  berth::command_line::FlagSet& flags = command.flags();
  flags.Integer("nodes", parameters.nodes, "nodes", {.least = 1, .most = 200'000});
  flags.Integer("shapes", parameters.shapes, "shapes of pods", {.least = 1, .most = 100});
  flags.Integer("placements", parameters.placements, "approximate number of placements", {.least = 5000});
  flags.Integer("live", parameters.live, "pods that exist at the same time, on average", {.least = 100});
  flags.Integer("rounds", rounds, "rounds; the median by CPU time is shown", {.least = 1});
  flags.Bool("json", json, "print one JSON object");
  if (const auto code = command.Parse(argc, argv)) return *code;
  const auto workload = berth::simulate::ParseWorkload(WorkloadText(parameters), "");
  if (!workload) Stop(workload.error().message);
  const berth::runtime::Registry plugins = berth::assembly::InTreePlugins();
  std::vector<Measured> all;
  for (std::size_t round = 0; round < rounds; ++round) all.push_back(RunOnce(*workload, plugins));
  std::ranges::sort(all, {}, &Measured::cpu_seconds);
  const Measured& median = all[rounds / 2];
  const auto bound = static_cast<double>(median.bound);
  const std::string name = fmt::format("simulation/{}/shapes-{}", parameters.nodes, parameters.shapes);
  if (json) {
    fmt::print(
        "{{\"name\":\"{}\",\"value\":{:.0f},\"unit\":\"placements/"
        "s\",\"nodes\":{},\"pods\":{},\"wallSeconds\":{:.4f},"
        "\"cpuSeconds\":{:.4f},\"cpuMicros\":{:.2f},\"peakMiB\":{:.1f}}}\n",
        name, bound / median.wall_seconds, parameters.nodes, median.bound, median.wall_seconds,
        median.cpu_seconds, median.cpu_seconds * 1e6 / bound, PeakMebibytes());
  } else {
    fmt::print("{:<28} {:>14} {:>14} {:>10} {:>10}\n", "benchmark", "placements/s", "per CPU second",
               "cpu us", "peak MiB");
    fmt::print("{:<28} {:>14.0f} {:>14.0f} {:>10.2f} {:>10.1f}\n", name, bound / median.wall_seconds,
               bound / median.cpu_seconds, median.cpu_seconds * 1e6 / bound, PeakMebibytes());
  }
}
