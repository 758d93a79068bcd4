// Decisions per second in process, on one core: all nodes are filtered and scored, records are kept, and each
// pod is assumed on its node before the next one is scheduled. The workload defines the pods. The cost of
// each workload is also shown relative to the first one of the same run.
//
//   bench_decisions [--nodes 1000,5000] [--workloads distinct,anti-affinity] [--pods 20000] [--rounds 3]
//   [--pods-per-node 30] [--config scheduler.yaml] [--load-aware] [--no-equivalence-cache] [--json]
//   bench_decisions --dump --nodes 1000 --workloads distinct --pods 100
//   bench_decisions --events trace.events
//
// With --load-aware each workload is measured a second time, with LoadAware's five signals (preset streaming)
// beside the default plugins and measurements for every node. With --dump it prints the objects of one
// workload in their order instead, as input of another scheduler (tests/baseline). With --events the cluster
// and the pods are those of a file in this form, for example a converted trace (gpu_trace).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/measuring.hpp"
#include "bench/no_writes.hpp"
#include "bench/recorded_events.hpp"
#include "bench/stage.hpp"
#include "command_line/command.hpp"
#include "scheduler/algorithm/current_view.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/record/record_ring.hpp"

namespace berth::bench {
namespace {

constexpr const char* kLoadAware =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    "profiles: [{plugins: {multiPoint: {enabled: [{name: LoadAware}]}}, "
    "pluginConfig: [{name: LoadAware, args: {preset: streaming}}]}]\n";

// Peak memory of this process only; getrusage includes the process that started it.
double PeakMiB() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    double kib = 0;
    status >> kib;
    return kib / 1024;
  }
  return 0;
}

struct Result {
  double wall_seconds = 0, cpu_seconds = 0;  // of all decisions
  std::vector<double> micros;                // of each, sorted
  std::size_t unplaced = 0;
  double feasible = 0;  // nodes that passed, per decision

  double per_second() const { return static_cast<double>(micros.size()) / wall_seconds; }
  double cpu_micros() const { return cpu_seconds * 1e6 / static_cast<double>(micros.size()); }
  double PerMille(std::size_t share) const { return micros[(micros.size() - 1) * share / 1000]; }
};

// A workload and a scheduler configuration.
struct Subject {
  const Workload* workload = nullptr;
  std::string config;                   // a KubeSchedulerConfiguration; empty: kube-scheduler's default
  std::vector<std::string> gates = {};  // values of --feature-gates
  bool load_aware = false;
  bool use_equivalence_cache = true;  // use the equivalence cache
  std::size_t record_bytes = 0;       // of the attempt records that are kept
};

config::SchedulerConfig ConfigOf(const Subject& subject, const runtime::Registry& plugins) {
  const config::FeatureGates gates = GatesOf(subject.gates);
  const std::string text = subject.load_aware ? kLoadAware : subject.config;
  if (text.empty()) return config::DefaultSchedulerConfig(gates);
  const config::ParseOptions options{.gates = gates, .codecs = &plugins.codecs(), .read_file = {}};
  auto parsed = config::ParseSchedulerConfig(text, options);
  if (!parsed) Stop(parsed.error().message);
  return std::move(*parsed);
}

// Gives every node moderate load, if a plugin has declared signals: nodes that LoadAware rejects would make
// decisions cheaper.
void MeasureNodes(framework::Handle& handle, const Clock& clock) {
  auto& measurements = handle.signals;
  measurements.SetClock(clock);
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    load_metrics::SignalAnswer answer{.signal = static_cast<load_metrics::SignalId>(i),
                                      .polled_at = clock.Now(),
                                      .renumbered = true,
                                      .fresh = nullptr,
                                      .samples = {}};
    std::vector<load_metrics::SeriesName> series;
    handle.nodes.all().ForEach([&](std::size_t row) {
      const std::size_t number = series.size();
      const double value = 0.2 + static_cast<double>(number * 7919 % 1000) / 4000;
      answer.samples.emplace_back(number, value);
      series.push_back({{"node", handle.nodes.name(static_cast<cluster::Row>(row))}});
    });
    answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(series));
    measurements.Take(answer);
  }
}

// The work of the scheduler for one pod: prepares it, schedules it, keeps the record, and assumes the pod on
// its node.
class Deciding {
 public:
  Deciding(assembly::Engine& engine, const Subject& subject)
      : engine_(engine),
        cache_(engine.cache()),
        algorithm_(Options(subject.use_equivalence_cache), engine.reasons(), engine.extenders()),
        records_(subject.record_bytes) {}

  // Not inlined, so that callgrind can count it alone (--toggle-collect).
  [[gnu::noinline]] void Take(const Step& step) {
    for (const auto& change : step.changes) change(cache_);
    const cluster::PodInfo pod = cluster::PreparePod(step.pod, engine_.symbols());
    algorithm::ScheduleResult decision =
        algorithm_.Schedule(pod, *engine_.profiles().front(), view_.Of(cache_), {});
    if (decision.row == cluster::kNoRow) {
      ++unplaced_;
    } else {
      cache_.Assume(pod, decision.row);
      const bool claims = !step.pod->spec.resource_claims.empty();
      if (claims) Reserve(pod, decision);
      // Claims differ in the number of feasible nodes, and their decisions take so long that counting does
      // not matter.
      if (placed_++ % kCountEach == 0 || claims) {
        feasible_ += decision.record->feasible.Count();
        ++counted_;
      }
    }
    records_.Add(std::move(decision.record), {});
  }

  std::size_t unplaced() const { return unplaced_; }
  // Average number of nodes that passed all filters.
  double feasible() const {
    return counted_ == 0 ? 0 : static_cast<double>(feasible_) / static_cast<double>(counted_);
  }

 private:
  // Its devices are no longer available to the next pods. The claims are never written.
  void Reserve(const cluster::PodInfo& pod, algorithm::ScheduleResult& decision) {
    const std::string& node = cache_.nodes().name(decision.row);
    const framework::Status status = engine_.profiles().front()->RunReserve({pod, node, decision.state});
    if (!status.ok()) Stop(status.Message());
  }

  static algorithm::AlgorithmOptions Options(bool use_equivalence_cache) {
    algorithm::AlgorithmOptions options{.seed = 1};
    if (!use_equivalence_cache) options.equivalence_cache_bytes = 0;
    return options;
  }

  assembly::Engine& engine_;
  cluster::ClusterState& cache_;
  algorithm::SchedulingAlgorithm algorithm_;
  record::RecordRing records_;
  algorithm::CurrentView view_;
  static constexpr std::size_t kCountEach = 256;  // counting is not part of a decision
  std::size_t unplaced_ = 0, placed_ = 0, feasible_ = 0, counted_ = 0;
};

Result RunOnce(const Subject& subject, const Size& size) {
  assembly::DryRunPorts ports;
  std::vector<std::string> notes;
  const auto plugins = assembly::InTreePlugins();
  auto engine = assembly::Engine::Build(ConfigOf(subject, plugins), plugins, ports.ports(), notes);
  if (!engine) Stop(engine.error().message);
  const Stage stage((*engine)->cache(), *subject.workload, size);
  const ManualClock clock;
  MeasureNodes((*engine)->handle(), clock);
  Deciding deciding(**engine, subject);

  Result result;
  result.micros.reserve(stage.steps().size());
  const double cpu = CpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  auto last = start;
  for (const Step& step : stage.steps()) {
    deciding.Take(step);
    const auto now = std::chrono::steady_clock::now();
    result.micros.push_back(std::chrono::duration<double, std::micro>(now - last).count());
    last = now;
  }
  result.wall_seconds = std::chrono::duration<double>(last - start).count();
  result.cpu_seconds = CpuSeconds() - cpu;
  result.unplaced = deciding.unplaced();
  result.feasible = deciding.feasible();
  std::ranges::sort(result.micros);
  return result;
}

// Alternates rounds of all workloads, so that a drifting machine speed affects all equally. Returns the round
// with the median rate of each workload.
std::vector<Result> Medians(std::span<const Subject> subjects, const Size& size, std::size_t rounds) {
  std::vector<std::vector<Result>> results(subjects.size());
  Size few = size;
  few.pods = std::min<std::size_t>(size.pods, 1000);
  RunOnce(subjects.front(), few);  // warms caches and the allocator
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < subjects.size(); ++i) results[i].push_back(RunOnce(subjects[i], size));
  }
  std::vector<Result> medians;
  for (std::vector<Result>& of_one : results) {
    std::ranges::sort(of_one, {}, &Result::per_second);
    medians.push_back(of_one[rounds / 2]);
  }
  return medians;
}

void Print(const std::string& name, const Size& size, const Result& result, double ratio, bool json) {
  const double p50 = result.PerMille(500), p99 = result.PerMille(990), p999 = result.PerMille(999);
  if (json) {
    fmt::print(
        "{{\"name\":\"{}\",\"value\":{:.1f},\"unit\":\"decisions/s\",\"nodes\":{},\"pods\":{},"
        "\"wallSeconds\":{:.4f},\"cpuSeconds\":{:.4f},\"cpuMicros\":{:.2f},\"p50Micros\":{:.2f},"
        "\"p99Micros\":{:.2f},\"p999Micros\":{:.2f},\"maxMicros\":{:.1f},\"unplaced\":{},\"feasible\":{:.1f},"
        "\"peakMiB\":{:.1f},"
        "\"costRatio\":{:.2f}"
        "}}\n",
        name, result.per_second(), size.nodes, size.pods, result.wall_seconds, result.cpu_seconds,
        result.cpu_micros(), p50, p99, p999, result.micros.back(), result.unplaced, result.feasible,
        PeakMiB(), ratio);
  } else {
    fmt::print("{:<50} {:>12.0f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9} {:>7.2f}\n", name,
               result.per_second(), result.cpu_micros(), p50, p99, result.micros.back(), result.unplaced,
               ratio);
  }
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) Stop(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  using namespace berth::bench;
  KeepFreedMemory();
  std::vector<std::size_t> nodes{1000, 5000};
  std::vector<std::string> names;
  Size size{.pods = 20000};
  std::size_t rounds = 3;
  std::string config, events;
  std::size_t record_bytes = 64u << 20;
  bool load_aware = false, plain = false, json = false, dump = false, list = false;
  std::vector<std::string> all, gates;
  for (const Workload& workload : Workloads()) all.push_back(workload.name);
  berth::command_line::Command command(
      "bench_decisions",
      "Decisions per second in process on one core: all nodes are filtered and "
      "scored, records are kept. --list describes the workloads.");
  berth::command_line::FlagSet& flags = command.flags();
  flags.Integers("nodes", nodes, "cluster sizes in nodes", {.least = 1});
  flags.Choices("workloads", names, all,
                "workloads, comma-separated; default: all; costs are relative to the first", "NAMES");
  flags.Integer("pods", size.pods, "pods per round", {.least = 1});
  flags.Integer("pods-per-node", size.pods_per_node, "small bound pods per node before the first decision",
                {0, 100});
  flags.Integer("rounds", rounds, "rounds per size; the median round is shown", {.least = 1});
  flags.Path("config", config, "KubeSchedulerConfiguration file; default: the default configuration");
  flags.List("feature-gates", "GATES", gates, "feature gates, as for berth scheduler");
  flags.Bool("load-aware", load_aware,
             "measure each workload a second time, with LoadAware and node measurements; not with --config");
  flags.Bool("no-equivalence-cache", plain,
             "disable the equivalence cache, like --berth-equivalence-cache-size=0");
  flags.Integer(
      "record-bytes", record_bytes,
      "limit of the attempt records that are kept, like --berth-record-buffer-size; a small one is reached "
      "soon, as in a scheduler that has been running for long",
      {.least = 1});
  flags.Bool("json", json, "print one JSON object per line");
  flags.Bool("dump", dump, "print the cluster and the pods of one workload, one watch event per line");
  flags.Path("events", events,
             "file with watch events, one per line, instead of --nodes, --workloads and --pods");
  flags.Bool("list", list, "list the workloads with their descriptions, separated by a tab");
  if (const auto code = command.Parse(argc, argv)) return *code;
  if (names.empty()) names = all;
  if (load_aware && !config.empty()) Stop("--load-aware and --config exclude each other");
  if (list) {
    for (const Workload& workload : Workloads()) fmt::print("{}\t{}\n", workload.name, workload.about);
    return 0;
  }
  if (dump) {
    if (nodes.size() != 1 || names.size() != 1)
      Stop("--dump: requires exactly one value of --nodes and one of --workloads");
    size.nodes = nodes.front();
    Dump(*FindWorkload(names.front()), size);
    return 0;
  }
  if (!json)
    fmt::print("{:<50} {:>12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}\n", "benchmark", "decisions/s", "cpu us",
               "p50 us", "p99 us", "max us", "unplaced", "ratio");
  std::vector<Subject> subjects;
  std::optional<RecordedWorkload> recorded;
  if (!events.empty()) {
    recorded = ReadEvents(events);
    size = recorded->size;
    nodes = {size.nodes};
    names = {recorded->workload.name};
  }
  const std::string config_text = config.empty() ? "" : ReadFile(config);
  for (const std::string& name : names) {
    const Workload* workload = recorded ? &recorded->workload : FindWorkload(name);
    subjects.push_back({.workload = workload,
                        .config = config_text,
                        .gates = gates,
                        .use_equivalence_cache = !plain,
                        .record_bytes = record_bytes});
    if (load_aware)
      subjects.push_back({.workload = workload,
                          .config = "",
                          .gates = gates,
                          .load_aware = true,
                          .use_equivalence_cache = !plain,
                          .record_bytes = record_bytes});
  }
  for (const std::size_t count : nodes) {
    size.nodes = count;
    const std::vector<Result> results = Medians(subjects, size, rounds);
    for (std::size_t i = 0; i < results.size(); ++i) {
      Print(fmt::format("decisions/{}/{}{}", count, subjects[i].workload->name,
                        subjects[i].load_aware ? "/load-aware" : ""),
            size, results[i], results[i].cpu_micros() / results.front().cpu_micros(), json);
    }
  }
}
