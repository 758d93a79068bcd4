// What it costs to find out whom to evict: every node is full of pods of low priority, and each attempt is a
// pod of its own that asks for more than is free anywhere. The whole attempt is measured, from PreFilter to
// the message; nobody is evicted.
//
//   bench_preemption [--nodes 1000,5000] [--pods-per-node 4] [--attempts 2000]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <vector>

#include "assembly/engine.hpp"
#include "assembly/in_tree_plugins.hpp"
#include "base/random.hpp"
#include "bench/no_writes.hpp"

namespace berth::bench {
namespace {

api::NodePtr MakeNode(std::size_t i) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = fmt::format("node-{:05}", i);
  node->metadata.labels = {{"kubernetes.io/hostname", node->metadata.name}};
  node->allocatable = {{"cpu", api::Quantity::FromInteger(4)},
                       {"memory", api::Quantity::FromInteger(32LL << 30)},
                       {"pods", api::Quantity::FromInteger(110)}};
  return node;
}

api::PodPtr MakePod(const std::string& name, std::int64_t milli_cpu, std::int32_t priority,
                    const std::string& node, std::int64_t start) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = name;
  pod->metadata.ns = "default";
  pod->metadata.uid = "uid-" + name;
  pod->metadata.labels = {{"app", name}};
  pod->spec.scheduler_name = "default-scheduler";
  pod->spec.priority = priority;
  pod->spec.node_name = node;
  pod->status.start_time = start;
  api::Container& container = pod->spec.containers.emplace_back();
  container.name = "main";
  container.resources.requests = {{"cpu", api::Quantity::FromMilli(milli_cpu)},
                                  {"memory", api::Quantity::FromInteger(500LL << 20)}};
  return pod;
}

struct Result {
  double p50_micros = 0, p99_micros = 0;
  std::size_t nominated = 0;
};

Result Measure(std::size_t nodes, std::size_t pods_per_node, std::size_t attempts, bool never) {
  NoWrites nowhere;
  std::vector<std::string> notes;
  auto engine =
      assembly::Engine::Build(config::DefaultSchedulerConfig(), assembly::InTreePlugins(), nowhere, notes);
  if (!engine) {
    fmt::print(stderr, "Error: {}\n", engine.error().message);
    std::exit(1);
  }
  cache::ClusterCache& cache = (*engine)->cache();
  Random random(1);
  for (std::size_t i = 0; i < nodes; ++i) {
    cache.AddNode(MakeNode(i));
    for (std::size_t k = 0; k < pods_per_node; ++k) {
      cache.AddPod(MakePod(fmt::format("low-{}-{}", i, k), static_cast<std::int64_t>(3600 / pods_per_node),
                           static_cast<std::int32_t>(random.Below(5)), fmt::format("node-{:05}", i),
                           static_cast<std::int64_t>(1 + random.Below(100'000))));
    }
  }
  const auto names = core::NamesOf(cache.nodes());
  core::Decider decider({.seed = 1}, (*engine)->reasons());
  Result result;
  std::vector<double> micros;
  for (std::size_t i = 0; i < attempts; ++i) {
    auto object = std::make_shared<api::Pod>(*MakePod(
        fmt::format("high-{}", i), static_cast<std::int64_t>(1000 + random.Below(2500)), 100, "", 0));
    object->spec.never_preempts = never;
    const framework::PodInfo pod = framework::PreparePod(object, (*engine)->vocabulary());
    const auto start = std::chrono::steady_clock::now();
    const core::Decision decision = decider.Decide(pod, *(*engine)->profiles().front(),
                                                   {cache.nodes(), cache.VisitingOrder(), names}, {});
    micros.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    if (decision.record->nomination) ++result.nominated;
  }
  std::ranges::sort(micros);
  result.p50_micros = micros[attempts / 2];
  result.p99_micros = micros[attempts * 99 / 100];
  return result;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  std::vector<std::size_t> nodes{1000, 5000};
  std::size_t pods_per_node = 4;
  std::size_t attempts = 2000;
  CLI::App app("What it costs to find out whom to evict, in a cluster full of pods of low priority.");
  app.add_option("--nodes", nodes, "sizes of the cluster")->delimiter(',')->capture_default_str();
  app.add_option("--pods-per-node", pods_per_node, "pods of low priority on each node")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--attempts", attempts, "pods that need room")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  fmt::print("{:<32} {:>9} {:>9} {:>10}\n", "benchmark", "p50 us", "p99 us", "nominated");
  for (const std::size_t count : nodes) {
    for (const bool never : {true, false}) {
      const auto result = berth::bench::Measure(count, pods_per_node, attempts, never);
      fmt::print("{:<32} {:>9.1f} {:>9.1f} {:>10}\n",
                 fmt::format("preemption/{}/{}", count, never ? "never" : "evaluated"), result.p50_micros,
                 result.p99_micros, result.nominated);
    }
  }
}
