// Scheduling latency at a steady rate of new pods: from the moment when a watch reports the pod's creation to
// the moment when a watch reports its binding. The program has its own watches beside the scheduler's. So all
// figures include the time in which the API server processes and reports the binding, for every scheduler.
// Each round starts a sandbox and one scheduler as processes; rounds alternate between the schedulers.
//
//   bench_latency --nodes 5000 --rate 1000 --seconds 10
//     --scheduler 'berth=build/bin/berth scheduler --config {config} --kubeconfig {kubeconfig}'
//     --scheduler 'kube-scheduler=kube-scheduler --config {config} --kubeconfig {kubeconfig} --secure-port=0'
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <charconv>
#include <thread>

#include "bench/comparison.hpp"
#include "command_line/command.hpp"

namespace berth::command {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

struct Settings : Contest {
  double rate = 1000;  // pods per second
  double seconds = 10;
};

// The time when a watch first reported each of the pods "<prefix>-<i>". Written by the watch's thread.
class Sightings {
 public:
  Sightings(std::string_view prefix, std::size_t pods)
      : name_(fmt::format(R"("name":"{}-)", prefix)), at_(pods) {}

  Expected<void> Start(std::uint16_t port, std::string_view field_selector) {
    BERTH_TRY(watch_, load_generator::WatchThread::Start(
                          port, fmt::format("/api/v1/pods?watch=1&fieldSelector={}", field_selector),
                          [this](std::string_view line, MonoTime arrived) { Take(line, arrived); }));
    return {};
  }
  std::size_t count() const { return count_; }
  // The time of a reported pod. Call it only after the watch has ended.
  MonoTime at(std::size_t pod) const { return at_[pod]; }

 private:
  void Take(std::string_view line, MonoTime arrived) {
    if (!line.starts_with(R"({"type":"ADDED")")) return;
    const auto found = line.find(name_);
    if (found == line.npos) return;
    std::size_t pod = at_.size();
    const std::string_view rest = line.substr(found + name_.size());
    std::from_chars(rest.data(), rest.data() + rest.size(), pod);
    if (pod >= at_.size() || at_[pod] != MonoTime{}) return;
    at_[pod] = arrived;
    ++count_;
  }

  const std::string name_;
  std::vector<MonoTime> at_;
  std::atomic<std::size_t> count_ = 0;
  std::unique_ptr<load_generator::WatchThread> watch_;  // last: its thread uses the other members
};

struct Result {
  std::string scheduler;
  std::size_t nodes = 0;
  std::vector<double> millis;  // of each pod, sorted
  double cpu_seconds = 0;      // of the scheduler
  std::string error;

  double PerMille(std::size_t share) const { return millis[(millis.size() - 1) * share / 1000]; }
};

Expected<void> AwaitAll(const Sightings& sightings, std::size_t wanted, double timeout_seconds,
                        const Stage& stage) {
  const auto until = Clock::now() + std::chrono::duration<double>(timeout_seconds);
  while (sightings.count() < wanted) {
    if (Clock::now() > until)
      return Fail(ErrorCode::kTimeout,
                  fmt::format("{} of {} pods were bound; the end of the scheduler's log:\n{}",
                              sightings.count(), wanted, stage.LogTail()));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

Expected<void> Measure(const Settings& settings, const Contender& contender, Result& result) {
  Stage stage;
  BERTH_RETURN_IF_ERROR(stage.StartSandbox(settings.sandbox, result.nodes));
  BERTH_RETURN_IF_ERROR(stage.StartScheduler(contender));
  constexpr std::size_t kWarm = 200;
  const auto pods = static_cast<std::size_t>(settings.rate * settings.seconds);
  Sightings warm("warm", kWarm), created("pod", pods), bound("pod", pods);
  BERTH_RETURN_IF_ERROR(warm.Start(stage.port, "spec.nodeName!="));
  BERTH_RETURN_IF_ERROR(stage.Post(PodBodies(settings.pod_kind, "warm", kWarm)));
  BERTH_RETURN_IF_ERROR(AwaitAll(warm, kWarm, settings.timeout_seconds, stage));
  BERTH_RETURN_IF_ERROR(created.Start(stage.port, "spec.nodeName="));
  BERTH_RETURN_IF_ERROR(bound.Start(stage.port, "spec.nodeName!="));

  result.cpu_seconds = -stage.scheduler->CpuSeconds();
  BERTH_RETURN_IF_ERROR(stage.Post(PodBodies(settings.pod_kind, "pod", pods),
                                   {.connections = 4, .pipelined = 1, .per_second = settings.rate}));
  BERTH_RETURN_IF_ERROR(AwaitAll(bound, pods, settings.timeout_seconds, stage));
  result.cpu_seconds += stage.scheduler->CpuSeconds();
  for (std::size_t pod = 0; pod < pods; ++pod)
    result.millis.push_back(
        std::chrono::duration<double, std::milli>(bound.at(pod) - created.at(pod)).count());
  std::ranges::sort(result.millis);
  return {};
}

void PrintRow(const Result& r) {
  if (!r.error.empty()) {
    fmt::print("{:>6}  {:<18} {}\n", r.nodes, r.scheduler, r.error);
  } else {
    fmt::print("{:>6}  {:<18} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>12.3f}\n", r.nodes, r.scheduler,
               r.PerMille(500), r.PerMille(990), r.PerMille(999), r.PerMille(1000),
               r.cpu_seconds * 1e3 / static_cast<double>(r.millis.size()));
  }
  std::fflush(stdout);
}

void PrintJson(const Settings& settings, const Result& r) {
  json::object line{{"name", fmt::format("latency/{}/{}", r.nodes, settings.pod_kind)},
                    {"scheduler", r.scheduler},
                    {"nodes", r.nodes},
                    {"offeredPerSecond", settings.rate}};
  if (r.error.empty()) {
    line["value"] = r.PerMille(990);
    line["unit"] = "ms";
    line["pods"] = r.millis.size();
    line["p50Micros"] = r.PerMille(500) * 1e3;
    line["p99Micros"] = r.PerMille(990) * 1e3;
    line["p999Micros"] = r.PerMille(999) * 1e3;
    line["maxMicros"] = r.PerMille(1000) * 1e3;
    line["cpuMicros"] = r.cpu_seconds * 1e6 / static_cast<double>(r.millis.size());
  } else {
    line["error"] = r.error;
  }
  fmt::print("{}\n", json::serialize(line));
  std::fflush(stdout);
}

int Run(const Settings& settings) {
  if (!settings.json_output)
    fmt::print("{:>6}  {:<18} {:>8} {:>8} {:>8} {:>8} {:>12}\n", "nodes", "scheduler", "p50 ms", "p99 ms",
               "p99.9 ms", "max ms", "CPU ms/pod");
  bool all_well = true;
  settings.Play<Result>(
      [&](const Contender& contender, Result& result) { return Measure(settings, contender, result); },
      [&](const Result& result) {
        settings.json_output ? PrintJson(settings, result) : PrintRow(result);
        all_well = all_well && result.error.empty();
      });
  return all_well ? 0 : 1;
}

int Main(int argc, char** argv) {
  Settings settings;
  command_line::Command command(
      "bench_latency", "Scheduling latency at a steady rate of new pods, over HTTP against a sandbox.");
  command.flags().Real("rate", settings.rate, "pods created per second", {1e-3, 1e6});
  command.flags().Real("seconds", settings.seconds, "duration in seconds", {1e-3, 1e6});
  if (const auto code = settings.Read(command, argc, argv)) return *code;
  return Run(settings);
}

}  // namespace
}  // namespace berth::command

int main(int argc, char** argv) { return berth::command::Main(argc, argv); }
