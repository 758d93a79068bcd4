// Decisions per second in process, on one core: every node filtered and scored, records kept, each pod
// assumed on its node before the next one is decided. What pods demand is told by the workload; each
// workload's cost is shown as a ratio to the first one's in the same run.
//
//   bench_decisions [--nodes 1000,5000] [--workloads distinct,anti-affinity] [--pods 20000] [--rounds 3]
//   [--load-aware] [--json]
//
// With --load-aware each workload is measured a second time, with LoadAware's five signals (preset streaming)
// beside the default plugins, every node measured.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "assembly/engine.hpp"
#include "assembly/in_tree_plugins.hpp"
#include "bench/no_writes.hpp"
#include "bench/workloads.hpp"
#include "framework/measurements.hpp"
#include "record/record_ring.hpp"

namespace berth::bench {
namespace {

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

// A workload, and what judges it.
struct Subject {
  const Workload* workload = nullptr;
  bool load_aware = false;
};

config::SchedulerConfig ConfigOf(const Subject& subject, const runtime::Registry& plugins) {
  if (!subject.load_aware) return config::DefaultSchedulerConfig();
  const config::ParseOptions options{.gates = {}, .codecs = &plugins.codecs(), .read_file = {}};
  return config::ParseSchedulerConfig(
             "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
             "profiles: [{plugins: {multiPoint: {enabled: [{name: LoadAware}]}}, "
             "pluginConfig: [{name: LoadAware, args: {preset: streaming}}]}]\n",
             options)
      .value();
}

// Every node carries something, none too much: those that LoadAware closes would make the rest cheaper.
void MeasureNodes(framework::Handle& handle, const Clock& clock) {
  auto& measurements = handle.Shared<framework::Measurements>();
  measurements.SetClock(clock);
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    framework::SignalAnswer answer{.signal = static_cast<framework::SignalId>(i),
                                   .asked = clock.Now(),
                                   .renumbered = true,
                                   .fresh = nullptr,
                                   .samples = {}};
    std::vector<framework::SeriesName> series;
    handle.nodes.all().ForEach([&](std::size_t row) {
      const std::size_t number = series.size();
      const double value = 0.2 + static_cast<double>(number * 7919 % 1000) / 4000;
      answer.samples.emplace_back(number, value);
      series.push_back({{"node", handle.nodes.name(static_cast<framework::Row>(row))}});
    });
    answer.fresh = std::make_shared<const std::vector<framework::SeriesName>>(std::move(series));
    measurements.Take(answer);
  }
}

Result RunOnce(const Subject& subject, std::size_t nodes, std::size_t pods) {
  const Workload& workload = *subject.workload;
  NoWrites nowhere;
  std::vector<std::string> notes;
  const auto plugins = assembly::InTreePlugins();
  auto engine = assembly::Engine::Build(ConfigOf(subject, plugins), plugins, nowhere, notes);
  if (!engine) {
    fmt::print(stderr, "Error: {}\n", engine.error().message);
    std::exit(1);
  }
  cache::ClusterCache& cache = (*engine)->cache();
  for (std::size_t i = 0; i < nodes; ++i) cache.AddNode(MakeNode(i));
  const ManualClock clock;
  if (subject.load_aware) MeasureNodes((*engine)->handle(), clock);
  workload.prepare(cache, nodes, pods);
  const auto names = core::NamesOf(cache.nodes());
  core::Decider decider({.seed = 1}, (*engine)->reasons());
  record::RecordRing records(64u << 20);
  std::vector<api::PodPtr> objects;
  for (std::size_t i = 0; i < pods; ++i) objects.push_back(workload.pod(i));

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

// Rounds of all workloads take turns, so that a machine whose speed drifts is fair to each; of each workload
// the round with the median rate.
std::vector<Result> Medians(std::span<const Subject> subjects, std::size_t nodes, std::size_t pods,
                            std::size_t rounds) {
  std::vector<std::vector<Result>> results(subjects.size());
  RunOnce(subjects.front(), nodes, std::min<std::size_t>(pods, 1000));  // warms caches and the allocator
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < subjects.size(); ++i) results[i].push_back(RunOnce(subjects[i], nodes, pods));
  }
  std::vector<Result> medians;
  for (std::vector<Result>& of_one : results) {
    std::ranges::sort(of_one, {}, &Result::per_second);
    medians.push_back(of_one[rounds / 2]);
  }
  return medians;
}

void Print(const std::string& name, const Result& result, double ratio, bool json) {
  if (json) {
    fmt::print(
        "{{\"name\":\"{}\",\"value\":{:.0f},\"unit\":\"decisions/s\",\"pods\":{},\"cpuMicros\":{:.2f},"
        "\"p50Micros\":{:.2f},\"p99Micros\":{:.2f},\"maxMicros\":{:.1f},\"unplaced\":{},\"costRatio\":{:.2f}}"
        "}\n",
        name, result.per_second, result.pods, result.cpu_micros, result.p50_micros, result.p99_micros,
        result.max_micros, result.unplaced, ratio);
  } else {
    fmt::print("{:<36} {:>12.0f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9} {:>7.2f}\n", name,
               result.per_second, result.cpu_micros, result.p50_micros, result.p99_micros, result.max_micros,
               result.unplaced, ratio);
  }
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  using namespace berth::bench;
  std::vector<std::size_t> nodes{1000, 5000};
  std::vector<std::string> names;
  std::size_t pods = 20000;
  std::size_t rounds = 3;
  bool load_aware = false;
  bool json = false;
  std::string about =
      "Decisions per second in process on one core: all nodes filtered and scored, records kept.\n"
      "Workloads:";
  for (const Workload& workload : Workloads()) {
    names.push_back(workload.name);
    about += fmt::format("\n  {:<20} {}", workload.name, workload.about);
  }
  CLI::App app(about);
  app.add_option("--nodes", nodes, "sizes of the cluster")->delimiter(',')->capture_default_str();
  app.add_option("--workloads", names, "what the pods demand; costs are relative to the first")
      ->delimiter(',')
      ->check([](const std::string& name) {
        return FindWorkload(name) == nullptr ? "no such workload: " + name : "";
      })
      ->capture_default_str();
  app.add_option("--pods", pods, "pods per round")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--rounds", rounds, "rounds per size; the median one is shown")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--load-aware", load_aware, "each workload a second time, with LoadAware and measured nodes");
  app.add_flag("--json", json, "one object per line");
  CLI11_PARSE(app, argc, argv);
  if (!json)
    fmt::print("{:<36} {:>12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}\n", "benchmark", "decisions/s", "cpu us",
               "p50 us", "p99 us", "max us", "unplaced", "ratio");
  std::vector<Subject> subjects;
  for (const std::string& name : names) {
    subjects.push_back({.workload = FindWorkload(name)});
    if (load_aware) subjects.push_back({.workload = FindWorkload(name), .load_aware = true});
  }
  for (const std::size_t count : nodes) {
    const std::vector<Result> results = Medians(subjects, count, pods, rounds);
    for (std::size_t i = 0; i < results.size(); ++i) {
      Print(fmt::format("decisions/{}/{}{}", count, subjects[i].workload->name,
                        subjects[i].load_aware ? "/load-aware" : ""),
            results[i], results[i].cpu_micros / results.front().cpu_micros, json);
    }
  }
}
