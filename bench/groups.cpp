// CPU time for the members of pod groups, from the queue to the requested binding, in a complete scheduler:
// queue, group cycles, Permit and bindings; the API server accepts every request immediately. The feature
// gates of pod groups are on.
//
//   bench_groups [--nodes 5000] [--workloads gang-1000] [--pods 1000] [--rounds 3] [--json]
//   bench_groups --dump --nodes 5000 --workloads gang-1000 --pods 1000
//
// With --dump it prints the objects of one workload in their order instead, as input of another scheduler
// (tests/baseline).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/measuring.hpp"
#include "bench/no_writes.hpp"
#include "bench/whole_scheduler.hpp"
#include "bench/workloads.hpp"
#include "command_line/command.hpp"

namespace berth::bench {
namespace {

config::SchedulerConfig WithGroups() {
  const std::string gates[] = {"GenericWorkload=true,TopologyAwareWorkloadScheduling=true"};
  return config::DefaultSchedulerConfig(GatesOf(gates));
}

// Counts the bindings.
class CountingWriter final : public NoWrites {
 public:
  void Bind(ports::Binding, ports::WriteDone done) override {
    ++bound;
    done({});
  }
  std::size_t bound = 0;
};

struct Result {
  double wall_seconds = 0, cpu_seconds = 0;
  std::size_t bound = 0;
};

// A scheduler with the objects of a workload; the pending pods are in its queue.
class Round {
 public:
  Round(const Workload& workload, const Size& size) : scheduler_(WithGroups(), api_) {
    EmitAll(workload, size, [this](const Event& event) {
      Decode(decoder_, event,
             [&]<class T>(std::shared_ptr<const T> object) { scheduler_.Deliver(std::move(object)); });
    });
  }

  Result Run() {
    const double cpu = CpuSeconds();
    const auto start = std::chrono::steady_clock::now();
    scheduler_.Run();
    return {.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
            .cpu_seconds = CpuSeconds() - cpu,
            .bound = api_.bound};
  }

 private:
  CountingWriter api_;
  WholeScheduler scheduler_;
  api::Decoder decoder_;
};

// The round with the median CPU time.
Result Median(const Workload& workload, const Size& size, std::size_t warm_up, std::size_t rounds) {
  if (warm_up > 0) Round(workload, {.nodes = size.nodes, .pods = warm_up}).Run();
  std::vector<Result> results;
  for (std::size_t round = 0; round < rounds; ++round) results.push_back(Round(workload, size).Run());
  std::ranges::sort(results, {}, &Result::cpu_seconds);
  return results[rounds / 2];
}

void Print(const std::string& name, const Size& size, const Result& result, bool json) {
  const auto pods = static_cast<double>(size.pods);
  const double micros = result.cpu_seconds * 1e6 / pods;
  if (json) {
    fmt::print(
        "{{\"name\":\"{}\",\"value\":{:.1f},\"unit\":\"pods/"
        "s\",\"nodes\":{},\"pods\":{},\"wallSeconds\":{:.4f},"
        "\"cpuSeconds\":{:.4f},\"cpuMicros\":{:.2f},\"unplaced\":{}}}\n",
        name, pods / result.wall_seconds, size.nodes, size.pods, result.wall_seconds, result.cpu_seconds,
        micros, size.pods - result.bound);
  } else {
    fmt::print("{:<40} {:>10.0f} {:>10.1f} {:>10}\n", name, pods / result.wall_seconds, micros,
               size.pods - result.bound);
  }
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  using namespace berth::bench;
  KeepFreedMemory();
  const std::vector<Workload> workloads = GroupWorkloads();
  std::vector<std::string> all;
  for (const Workload& workload : workloads) all.push_back(workload.name);
  std::vector<std::size_t> nodes{5000};
  std::vector<std::string> names;
  Size size{.pods = 1000};
  std::size_t warm_up = 64, rounds = 3;
  bool json = false, dump = false, list = false;
  berth::command_line::Command command(
      "bench_groups",
      "CPU time for the members of pod groups, from the queue to the requested binding. --list describes the "
      "workloads.");
  berth::command_line::FlagSet& flags = command.flags();
  flags.Integers("nodes", nodes, "cluster sizes in nodes", {.least = 1});
  flags.Choices("workloads", names, all, "workloads, comma-separated; default: all", "NAMES");
  flags.Integer("pods", size.pods, "pods per round", {.least = 1});
  flags.Integer("warm-up", warm_up, "pods of a round before them, which warms caches and the allocator",
                {.least = 0});
  flags.Integer("rounds", rounds, "rounds per size; the median round is shown", {.least = 1});
  flags.Bool("json", json, "print one JSON object per line");
  flags.Bool("dump", dump, "print the cluster and the pods of one workload, one watch event per line");
  flags.Bool("list", list, "list the workloads with their descriptions, separated by a tab");
  if (const auto code = command.Parse(argc, argv)) return *code;
  if (names.empty()) names = all;
  if (list) {
    for (const Workload& workload : workloads) fmt::print("{}\t{}\n", workload.name, workload.about);
    return 0;
  }
  if (dump && (nodes.size() != 1 || names.size() != 1))
    Stop("--dump: requires exactly one value of --nodes and one of --workloads");
  if (!json && !dump)
    fmt::print("{:<40} {:>10} {:>10} {:>10}\n", "benchmark", "pods/s", "cpu us", "unplaced");
  for (const std::size_t count : nodes) {
    size.nodes = count;
    for (const std::string& name : names) {
      const Workload& workload = *std::ranges::find(workloads, name, &Workload::name);
      if (dump) {
        Dump(workload, size);
        continue;
      }
      Print(fmt::format("groups/{}/{}", count, name), size, Median(workload, size, warm_up, rounds), json);
    }
  }
}
