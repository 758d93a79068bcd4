// End-to-end comparison of schedulers over HTTP: each round starts a sandbox and one scheduler as processes
// and creates pods. Measures the time from the first create to the last bind, and the scheduler's CPU time.
// Rounds alternate between the schedulers, because the speed of a shared machine drifts.
//
//   bench_end_to_end --nodes 1000 --pods 10000 --rounds 2
//     --scheduler 'berth=build/bin/berth scheduler --kubeconfig {kubeconfig}'
//     --scheduler 'kube-scheduler=kube-scheduler --config {config} --authentication-skip-lookup
//     --secure-port=0'
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "bench/comparison.hpp"
#include "command_line/command.hpp"

namespace berth::command {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

struct Settings : Contest {
  std::size_t pods = 10000;
  std::size_t warmup = 50;    // pods bound before the measurement starts
  bool before_start = false;  // create the pods before the scheduler starts
};

struct Result {
  std::string scheduler;
  std::size_t nodes = 0;
  std::size_t bound = 0;
  double seconds = 0;
  double cpu_seconds = 0;  // of the scheduler, over the measured time
  double sandbox_cpu_seconds = 0;
  std::size_t peak_memory_bytes = 0;
  std::string error;

  double pods_per_second() const { return seconds > 0 ? static_cast<double>(bound) / seconds : 0; }
  double cpu_ms_per_pod() const { return bound > 0 ? cpu_seconds * 1e3 / static_cast<double>(bound) : 0; }
};

// Counts bindings: a watch of bound pods that are still Pending sends ADDED exactly once per binding.
class BindCounter {
 public:
  Expected<void> Start(std::uint16_t port) {
    BERTH_TRY(watch_, load_generator::WatchThread::Start(
                          port, "/api/v1/pods?watch=1&fieldSelector=spec.nodeName!=,status.phase=Pending",
                          [this](std::string_view line, MonoTime arrived) {
                            if (!line.starts_with("{\"type\":\"ADDED\"")) return;
                            last_ = arrived.time_since_epoch().count();
                            ++count_;
                          }));
    return {};
  }
  std::size_t count() const { return count_; }
  MonoTime last() const { return MonoTime(Duration(last_)); }
  // Waits until the count reaches `wanted`. False if there is no progress for `timeout_seconds`.
  bool Await(std::size_t wanted, double timeout_seconds) const {
    auto progress = Clock::now();
    for (std::size_t seen = count_; seen < wanted;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (count_ != seen) progress = Clock::now();
      seen = count_;
      if (Clock::now() - progress > std::chrono::duration<double>(timeout_seconds)) return false;
    }
    return true;
  }

 private:
  std::atomic<std::size_t> count_ = 0;
  std::atomic<std::int64_t> last_ = 0;
  std::unique_ptr<load_generator::WatchThread> watch_;  // last: its thread uses the other members
};

Expected<void> Measure(const Settings& settings, const Contender& contender, Result& result) {
  Stage stage;
  BERTH_RETURN_IF_ERROR(stage.StartSandbox(settings.sandbox, result.nodes));
  BindCounter bound;
  BERTH_RETURN_IF_ERROR(bound.Start(stage.port));
  const auto bodies = PodBodies(settings.pod_kind, "pod", settings.pods);
  const auto timed_out = [&] {
    return Fail(ErrorCode::kTimeout,
                fmt::format("no progress after {} of {} pods; the end of the scheduler's log:\n{}",
                            bound.count(), settings.pods, stage.LogTail()));
  };
  MonoTime start;
  std::size_t expected = settings.pods;
  if (settings.before_start) {
    BERTH_RETURN_IF_ERROR(stage.Post(bodies));
    start = Clock::now();
    BERTH_RETURN_IF_ERROR(stage.StartScheduler(contender));
  } else {
    BERTH_RETURN_IF_ERROR(stage.StartScheduler(contender));
    BERTH_RETURN_IF_ERROR(stage.Post(PodBodies(settings.pod_kind, "warm", settings.warmup)));
    if (!bound.Await(settings.warmup, settings.timeout_seconds)) return timed_out();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    expected += settings.warmup;
    result.cpu_seconds = -stage.scheduler->CpuSeconds();
    result.sandbox_cpu_seconds = -stage.sandbox->CpuSeconds();
    start = Clock::now();
    BERTH_RETURN_IF_ERROR(stage.Post(bodies));
  }
  if (!bound.Await(expected, settings.timeout_seconds)) return timed_out();
  result.seconds = std::chrono::duration<double>(bound.last() - start).count();
  result.bound = settings.pods;
  // Events and status updates of these pods may still be in progress: their CPU time counts, too.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  result.cpu_seconds += stage.scheduler->CpuSeconds();
  result.sandbox_cpu_seconds += stage.sandbox->CpuSeconds();
  result.peak_memory_bytes = stage.scheduler->PeakMemoryBytes();
  return {};
}

void PrintRow(const Result& r) {
  if (!r.error.empty()) {
    fmt::print("{:>6}  {:<18} {}\n", r.nodes, r.scheduler, r.error);
  } else {
    fmt::print("{:>6}  {:<18} {:>9.2f} {:>10.0f} {:>12.3f} {:>12.3f} {:>10.1f}\n", r.nodes, r.scheduler,
               r.seconds, r.pods_per_second(), r.cpu_ms_per_pod(),
               r.sandbox_cpu_seconds * 1e3 / static_cast<double>(std::max<std::size_t>(r.bound, 1)),
               static_cast<double>(r.peak_memory_bytes) / (1 << 20));
  }
  std::fflush(stdout);
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Ratios of the first scheduler to each of the others, by medians.
void PrintRatios(const Settings& settings, const std::vector<Result>& results) {
  const auto median = [&](const std::string& name, std::size_t nodes, auto value) {
    std::vector<double> values;
    for (const auto& r : results) {
      if (r.scheduler == name && r.nodes == nodes && r.error.empty()) values.push_back(value(r));
    }
    return Median(values);
  };
  const auto speed = [](const Result& r) { return r.pods_per_second(); };
  const auto cost = [](const Result& r) { return r.cpu_ms_per_pod(); };
  const auto& first = settings.contenders.front().name;
  for (const std::size_t nodes : settings.nodes) {
    for (std::size_t i = 1; i < settings.contenders.size(); ++i) {
      const auto& other = settings.contenders[i].name;
      const double faster = median(first, nodes, speed) / median(other, nodes, speed);
      const double cheaper = median(other, nodes, cost) / median(first, nodes, cost);
      fmt::print(
          "{} nodes: {} binds {:.1f} x as many pods per second as {}, with 1/{:.1f} of the CPU time per "
          "pod\n",
          nodes, first, faster, other, cheaper);
    }
  }
}

void PrintJson(const Settings& settings, const Result& r) {
  json::object line{{"name", fmt::format("end-to-end/{}/{}", r.nodes, settings.pod_kind)},
                    {"scheduler", r.scheduler},
                    {"nodes", r.nodes},
                    {"pods", r.bound}};
  if (r.error.empty()) {
    line["value"] = r.pods_per_second();
    line["unit"] = "pods/s";
    line["wallSeconds"] = r.seconds;
    line["cpuSeconds"] = r.cpu_seconds;
    line["cpuMicros"] = r.cpu_ms_per_pod() * 1e3;
    line["sandboxCpuSeconds"] = r.sandbox_cpu_seconds;
    line["peakMiB"] = static_cast<double>(r.peak_memory_bytes) / (1 << 20);
  } else {
    line["error"] = r.error;
  }
  fmt::print("{}\n", json::serialize(line));
  std::fflush(stdout);
}

int Run(const Settings& settings) {
  std::vector<Result> results;
  if (!settings.json_output) {
    fmt::print("{:>6}  {:<18} {:>9} {:>10} {:>12} {:>12} {:>10}\n", "nodes", "scheduler", "seconds", "pods/s",
               "CPU ms/pod", "server ms/pod", "peak MiB");
  }
  settings.Play<Result>(
      [&](const Contender& contender, Result& result) { return Measure(settings, contender, result); },
      [&](Result result) {
        settings.json_output ? PrintJson(settings, result) : PrintRow(result);
        results.push_back(std::move(result));
      });
  if (!settings.json_output) PrintRatios(settings, results);
  return std::ranges::any_of(results, [](const Result& r) { return !r.error.empty(); }) ? 1 : 0;
}

int Main(int argc, char** argv) {
  Settings settings;
  command_line::Command command("bench_end_to_end",
                                "End-to-end comparison of schedulers over HTTP against a sandbox.");
  command.flags().Integer("pods", settings.pods, "pods to bind per round");
  command.flags().Bool("before", settings.before_start,
                       "create the pods before the scheduler starts, so that its start is measured");
  if (const auto code = settings.Read(command, argc, argv)) return *code;
  return Run(settings);
}

}  // namespace
}  // namespace berth::command

int main(int argc, char** argv) { return berth::command::Main(argc, argv); }
