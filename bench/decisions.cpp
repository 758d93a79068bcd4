// Decisions per second in process, on one core: no two pods alike, every node filtered and scored, records
// kept, each pod assumed on its node before the next one is decided.
//
//   bench_decisions [--nodes 1000,5000] [--pods 20000] [--rounds 3] [--json]
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "assembly/engine.hpp"
#include "assembly/in_tree_plugins.hpp"
#include "base/random.hpp"
#include "record/record_ring.hpp"

namespace berth::bench {
namespace {

class NoWrites final : public framework::ApiWriter {
 public:
  void Bind(framework::Binding, framework::WriteDone done) override { done({}); }
  void PatchPodStatus(framework::PodStatusPatch, framework::WriteDone done) override { done({}); }
  void ClaimVolume(framework::VolumeClaimed, framework::VersionDone done) override { done({}); }
  void SelectNode(framework::NodeSelected, framework::VersionDone done) override { done({}); }
};

// Nodes of three shapes in three zones; every tenth has a taint that few pods tolerate, every fifth one that
// is only to be avoided.
api::NodePtr MakeNode(std::size_t i) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = fmt::format("node-{:05}", i);
  node->metadata.labels = {{"kubernetes.io/hostname", node->metadata.name},
                           {"topology.kubernetes.io/zone", fmt::format("zone-{}", i % 3)},
                           {"node.kubernetes.io/instance-type", fmt::format("type-{}", i % 7)}};
  const std::int64_t cores = 16 << (i % 3);
  node->allocatable = {{"cpu", api::Quantity::FromInteger(cores)},
                       {"memory", api::Quantity::FromInteger(cores * (4LL << 30))},
                       {"ephemeral-storage", api::Quantity::FromInteger(200LL << 30)},
                       {"pods", api::Quantity::FromInteger(110)}};
  if (i % 10 == 0) node->taints.push_back({"dedicated", "batch", "NoSchedule"});
  if (i % 5 == 1) node->taints.push_back({"flaky", "", "PreferNoSchedule"});
  return node;
}

// Requests, labels, tolerations and (one in four) affinity of its own.
api::PodPtr MakePod(std::size_t i, Random& random) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = fmt::format("pod-{}", i);
  pod->metadata.ns = "default";
  pod->metadata.uid = fmt::format("uid-{}", i);
  pod->metadata.labels = {{"app", fmt::format("app-{}", i)}};
  pod->spec.scheduler_name = "default-scheduler";
  api::Container& container = pod->spec.containers.emplace_back();
  container.name = "main";
  container.image = fmt::format("registry.example.org/app-{}:v1", i % 100);
  container.resources.requests = {
      {"cpu", api::Quantity::FromMilli(static_cast<std::int64_t>(10 + random.Below(990)))},
      {"memory", api::Quantity::FromInteger(static_cast<std::int64_t>((16 + random.Below(2000)) << 20) +
                                            static_cast<std::int64_t>(i))}};
  pod->spec.tolerations.push_back({"tenant", "Equal", fmt::format("tenant-{}", i), "NoSchedule"});
  if (i % 3 == 0) pod->spec.tolerations.push_back({"dedicated", "Exists", "", ""});
  if (i % 4 == 0) {
    pod->spec.node_affinity.emplace();
    pod->spec.node_affinity->preferred.push_back(
        {static_cast<std::int32_t>(1 + random.Below(100)),
         {{{"topology.kubernetes.io/zone", "In", {fmt::format("zone-{}", random.Below(3))}}}, {}}});
  }
  return pod;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Result {
  std::size_t nodes = 0;
  std::size_t pods = 0;
  double per_second = 0;  // decisions, by wall clock
  double cpu_micros = 0;  // per decision
  double p50_micros = 0, p99_micros = 0, max_micros = 0;
  std::size_t unplaced = 0;
};

Result RunOnce(std::size_t nodes, std::size_t pods) {
  NoWrites nowhere;
  std::vector<std::string> notes;
  auto engine =
      assembly::Engine::Build(config::DefaultSchedulerConfig(), assembly::InTreePlugins(), nowhere, notes);
  if (!engine) {
    fmt::print(stderr, "Error: {}\n", engine.error().message);
    std::exit(1);
  }
  cache::ClusterCache& cache = (*engine)->cache();
  for (std::size_t i = 0; i < nodes; ++i) cache.AddNode(MakeNode(i));
  const auto names = core::NamesOf(cache.nodes());
  core::Decider decider({.seed = 1}, (*engine)->reasons());
  record::RecordRing records(64u << 20);
  Random random(1);
  std::vector<api::PodPtr> objects;
  for (std::size_t i = 0; i < pods; ++i) objects.push_back(MakePod(i, random));

  Result result{.nodes = nodes, .pods = pods};
  std::vector<double> micros;
  micros.reserve(pods);
  const double cpu = CpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  auto last = start;
  for (const api::PodPtr& object : objects) {
    const framework::PodInfo pod = framework::PreparePod(object, (*engine)->vocabulary());
    core::Decision decision = decider.Decide(pod, *(*engine)->profiles().front(),
                                             {cache.nodes(), cache.VisitingOrder(), names}, {});
    if (decision.row == framework::kNoRow) {
      ++result.unplaced;
    } else {
      cache.Assume(pod, decision.row);
    }
    records.Add(std::move(decision.record));
    const auto now = std::chrono::steady_clock::now();
    micros.push_back(std::chrono::duration<double, std::micro>(now - last).count());
    last = now;
  }
  result.per_second = static_cast<double>(pods) / std::chrono::duration<double>(last - start).count();
  result.cpu_micros = (CpuSeconds() - cpu) * 1e6 / static_cast<double>(pods);
  std::ranges::sort(micros);
  result.p50_micros = micros[pods / 2];
  result.p99_micros = micros[pods * 99 / 100];
  result.max_micros = micros.back();
  return result;
}

// The round with the median rate.
Result Median(std::size_t nodes, std::size_t pods, std::size_t rounds) {
  RunOnce(nodes, std::min<std::size_t>(pods, 1000));  // warms caches and the allocator
  std::vector<Result> results;
  for (std::size_t i = 0; i < rounds; ++i) results.push_back(RunOnce(nodes, pods));
  std::ranges::sort(results, {}, &Result::per_second);
  return results[rounds / 2];
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  std::vector<std::size_t> nodes{1000, 5000};
  std::size_t pods = 20000;
  std::size_t rounds = 3;
  bool json = false;
  CLI::App app(
      "Decisions per second in process: no two pods alike, all nodes filtered and scored, records kept, one "
      "core.");
  app.add_option("--nodes", nodes, "sizes of the cluster")->delimiter(',')->capture_default_str();
  app.add_option("--pods", pods, "pods per round")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--rounds", rounds, "rounds per size; the median one is shown")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", json, "one object per line");
  CLI11_PARSE(app, argc, argv);
  if (!json)
    fmt::print("{:<26} {:>12} {:>10} {:>9} {:>9} {:>9}\n", "benchmark", "decisions/s", "cpu us", "p50 us",
               "p99 us", "max us");
  for (const std::size_t count : nodes) {
    const auto result = berth::bench::Median(count, pods, rounds);
    const std::string name = fmt::format("decisions/{}/distinct", count);
    if (json) {
      fmt::print(
          "{{\"name\":\"{}\",\"value\":{:.0f},\"unit\":\"decisions/"
          "s\",\"pods\":{},\"cpuMicros\":{:.2f},\"p50Micros\":{:.2f},"
          "\"p99Micros\":{:.2f},\"maxMicros\":{:.1f},\"unplaced\":{}}}\n",
          name, result.per_second, result.pods, result.cpu_micros, result.p50_micros, result.p99_micros,
          result.max_micros, result.unplaced);
    } else {
      fmt::print("{:<26} {:>12.0f} {:>10.1f} {:>9.1f} {:>9.1f} {:>9.1f}\n", name, result.per_second,
                 result.cpu_micros, result.p50_micros, result.p99_micros, result.max_micros);
    }
  }
}
