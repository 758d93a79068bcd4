// What fresh explanations (GET pods/NAMESPACE/NAME/explanation of the scheduler's API) cost the scheduler:
// pods arrive at a steady rate in a complete scheduler on its own thread, in rounds that alternate between
// none and some explanations per second. Measured are the time from the watch event of a pod to the request
// of its binding, the time from the request of an explanation to its JSON and its CPU time, and the CPU time
// of the longest step on the loop. CPU times depend less on other load of the machine. The API server accepts
// every request immediately; the confirmation of a binding arrives as a watch event.
//
//   bench_explanations [--nodes 5000] [--bound 20000] [--rate 1000] [--explanations 100] [--seconds 10]
//     [--rounds 3] [--json]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/measuring.hpp"
#include "bench/no_writes.hpp"
#include "command_line/command.hpp"
#include "kubernetes/ports/dry_run_ports.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/cycle/services_proxy.hpp"
#include "scheduler/evaluation/pod_explainer.hpp"
#include "scheduler/explanation/explanation_json.hpp"
#include "testing/builders.hpp"

namespace berth::bench {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using Clock = std::chrono::steady_clock;
using std::chrono::duration;

struct Settings {
  std::size_t nodes = 5'000;
  std::size_t bound = 20'000;  // pods on nodes at the start
  double rate = 1'000;         // new pods per second
  double explanations = 100;   // per second
  double seconds = 10;         // of a round
  std::size_t rounds = 3;      // of each kind
  bool json = false;
};

// The CPU time of the calling thread.
Duration ThreadCpu() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}
// Measures steps of the loop without the time in which other threads run.
class CpuClock final : public berth::Clock {
 public:
  MonoTime Now() const override { return MonoTime(ThreadCpu()); }
  WallTime WallNow() const override { return SystemClock().WallNow(); }
  BootTime BootNow() const override { return SystemClock().BootNow(); }
};

// Takes the time of each binding, and confirms it.
class ConfirmingWriter final : public NoWrites {
 public:
  ConfirmingWriter(cycle::ClusterLoop& loop, std::size_t pods) : bound_at(pods), pods_(pods), loop_(loop) {}

  void Expect(std::size_t number, api::PodPtr pod) { pods_[number] = std::move(pod); }
  // Called on the loop's thread.
  void Bind(ports::Binding binding, ports::WriteDone done) override {
    const std::size_t number = std::stoul(binding.name.substr(binding.name.rfind('-') + 1));
    bound_at[number] = Clock::now();
    const api::PodPtr before = pods_[number];
    api::Pod after = *before;
    after.spec.node_name = binding.node;
    after.metadata.resource_version = "2";
    done({});
    loop_.sink().On(ports::Change<api::Pod>{before, std::make_shared<const api::Pod>(std::move(after))});
    ++bound;
  }

  std::vector<Clock::time_point> bound_at;
  std::atomic<std::size_t> bound = 0;

 private:
  std::vector<api::PodPtr> pods_;
  cycle::ClusterLoop& loop_;
};

api::NodePtr NodeOf(std::size_t number) {
  auto node = MakeNode(fmt::format("node-{:05}", number));
  node.Cpu("32").Memory("128Gi").Zone(std::string(1, static_cast<char>('a' + number % 3)));
  node.Label("kubernetes.io/hostname", fmt::format("node-{:05}", number));
  if (number % 10 == 0) node.Taint("gpu", "true", "NoSchedule").Label("disk", "ssd");
  return node.Share();
}

api::PodPtr PodOf(const char* kind, std::size_t number, const std::string& node) {
  auto pod = MakePod(fmt::format("{}-{}", kind, number));
  pod.Uid(fmt::format("{}-uid-{}", kind, number));
  pod.Cpu(fmt::format("{}m", 100 + number % 50 * 10)).Memory(fmt::format("{}Mi", 64 + number % 70));
  pod.Label("app", fmt::format("app-{}", number % 200)).Priority(static_cast<std::int32_t>(number % 5));
  if (!node.empty()) pod.OnNode(node);
  return pod.Share();
}

// Pods that fit no node, for different reasons.
constexpr std::size_t kPending = 8;
api::PodPtr PendingPod(std::size_t number) {
  auto pod = MakePod(fmt::format("pending-{}", number));
  pod.Uid(fmt::format("pending-uid-{}", number)).Cpu("1");
  switch (number % 4) {
    case 0:
      pod.Cpu("40");  // more than any node has
      break;
    case 1:
      pod.Selecting("disk", "sdd");  // mistyped
      break;
    case 2:
      pod.Selecting("disk", "ssd");  // tainted
      break;
    default:
      pod.Cpu("31").Selecting("disk", "ssd");  // several at once
  }
  return pod.Share();
}

struct Latencies {
  std::vector<double> micros;
  double At(double share) {
    std::ranges::sort(micros);
    return micros.empty() ? 0
                          : micros[static_cast<std::size_t>(static_cast<double>(micros.size() - 1) * share)];
  }
};

struct Result {
  Latencies bindings, explanations, explanation_cpu;
  double first_millis = 0;  // CPU time of the first explanation, which makes the copy
  std::size_t refused = 0;
  double loop_step_millis = 0;  // the upper bound of the bucket of the longest step
  double cpu_seconds = 0;
  long resident_kib = 0;
};

// The smallest bucket below which all longest steps are.
double LongestStepMillis(const metrics::Registry& metrics) {
  const std::string text = metrics.Expose();
  const std::string_view name = "berth_api_loop_step_duration_seconds_bucket{request=\"explanation\",le=\"";
  const std::string_view all = "berth_api_loop_step_duration_seconds_count{request=\"explanation\"} ";
  const auto count = text.find(all);
  if (count == text.npos) return 0;
  const std::string total = text.substr(count + all.size(), text.find('\n', count) - count - all.size());
  for (auto at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const auto bound = at + name.size(), quote = text.find('"', bound), value = text.find(' ', quote);
    if (text.substr(value + 1, text.find('\n', value) - value - 1) != total) continue;
    const std::string limit = text.substr(bound, quote - bound);
    return limit == "+Inf" ? 1e9 : std::stod(limit) * 1e3;
  }
  return 0;
}

long ResidentKib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// One scheduler with its cluster.
class Round {
 public:
  Round(const Settings& settings, bool with_explanations)
      : settings_(settings),
        with_explanations_(with_explanations),
        pods_(static_cast<std::size_t>(settings.rate * settings.seconds)),
        writer_(loop_, pods_) {
    std::vector<std::string> notes;
    auto engine = assembly::Engine::Build(config_, plugins_, {writer_, events_, loop_, services_}, notes,
                                          {.registry = &metrics_, .clock = &clock_, .options = {}});
    if (!engine) Stop(engine.error().message);
    engine_ = std::move(*engine);
    cycle::SchedulerOptions options;
    options.algorithm.seed = 1;
    scheduler_.emplace(
        options, cycle::SchedulerParts{loop_, services_, engine_->handle(), engine_->cache(),
                                       engine_->profiles(), clock_, metrics_, engine_->shared_extenders(),
                                       fence_, tracer_, [](std::size_t) { return true; }});
    explainer_.emplace(evaluation::PodExplainer::Parts{loop_, *scheduler_, *engine_, config_, plugins_,
                                                       cpu_clock_, metrics_});
    Fill();
  }

  Result Run() {
    std::thread loop([this] { loop_.Run(*scheduler_); });
    if (with_explanations_) {
      for (std::size_t i = 0; i < kPending; ++i) Explain(i);  // makes the copy
      while (answered_ < kPending) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const double first_millis = explanation_cpu_.empty() ? 0 : explanation_cpu_.front() / 1e3;
    explanations_.clear();
    explanation_cpu_.clear();
    const double cpu = CpuSeconds();
    const auto start = Clock::now();
    std::thread explaining([&] { ExplainAtRate(start); });
    std::vector<Clock::time_point> sent = SendAtRate(start);
    explaining.join();
    Await();
    Result result;
    result.cpu_seconds = CpuSeconds() - cpu;
    loop_.Stop();
    loop.join();
    for (std::size_t i = 0; i < pods_; ++i)
      result.bindings.micros.push_back(duration<double, std::micro>(writer_.bound_at[i] - sent[i]).count());
    result.explanations.micros = std::move(explanations_);
    result.explanation_cpu.micros = std::move(explanation_cpu_);
    result.first_millis = first_millis;
    result.refused = refused_;
    result.loop_step_millis = LongestStepMillis(metrics_);
    result.resident_kib = ResidentKib();
    return result;
  }

 private:
  void Fill() {
    for (std::size_t i = 0; i < settings_.nodes; ++i)
      loop_.sink().On(ports::Change<api::Node>{nullptr, NodeOf(i)});
    for (std::size_t i = 0; i < settings_.bound; ++i) {
      loop_.sink().On(ports::Change<api::Pod>{
          nullptr, PodOf("bound", i, fmt::format("node-{:05}", i % settings_.nodes))});
    }
    for (std::size_t i = 0; i < kPending; ++i)
      loop_.sink().On(ports::Change<api::Pod>{nullptr, PendingPod(i)});
    loop_.sink().OnSynced();
    while (loop_.RunOnce(*scheduler_)) {
    }
  }

  std::vector<Clock::time_point> SendAtRate(Clock::time_point start) {
    std::vector<api::PodPtr> pods;
    for (std::size_t i = 0; i < pods_; ++i) {
      pods.push_back(PodOf("new", i, ""));
      writer_.Expect(i, pods.back());
    }
    std::vector<Clock::time_point> sent(pods_);
    for (std::size_t i = 0; i < pods_; ++i) {
      std::this_thread::sleep_until(start + duration<double>(static_cast<double>(i) / settings_.rate));
      sent[i] = Clock::now();
      loop_.sink().On(ports::Change<api::Pod>{nullptr, std::move(pods[i])});
    }
    return sent;
  }

  void ExplainAtRate(Clock::time_point start) {
    if (!with_explanations_) return;
    const auto count = static_cast<std::size_t>(settings_.explanations * settings_.seconds);
    for (std::size_t i = 0; i < count; ++i) {
      std::this_thread::sleep_until(start +
                                    duration<double>(static_cast<double>(i) / settings_.explanations));
      Explain(i);
    }
  }

  void Explain(std::size_t number) {
    const auto began = Clock::now();
    const bool accepted = explainer_->Explain(
        fmt::format("default/pending-{}", number % kPending),
        [this, began](const Expected<const evaluation::Evaluated*>& evaluated) {
          if (!evaluated || *evaluated == nullptr) Stop("no explanation");
          const evaluation::Evaluated& found = **evaluated;
          const std::string json = explanation::ExplanationJson(
              found.explanation, {found.cluster_as_of, found.evaluated_at, true, found.left_out},
              explanation::JsonView::kNodes);
          if (json.find("\"advice\":") == json.npos) Stop("no advice: " + json);
          explanations_.push_back(duration<double, std::micro>(Clock::now() - began).count());
          const Duration cpu = ThreadCpu();
          explanation_cpu_.push_back(duration<double, std::micro>(cpu - std::exchange(cpu_, cpu)).count());
          ++answered_;
        });
    if (accepted) {
      ++asked_;
    } else {
      ++refused_;
    }
  }

  void Await() {
    const auto until = Clock::now() + std::chrono::seconds(30);
    while (writer_.bound < pods_ || answered_ < asked_) {
      if (Clock::now() > until) Stop(fmt::format("{} of {} pods were bound", writer_.bound.load(), pods_));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  const Settings& settings_;
  const bool with_explanations_;
  const std::size_t pods_;  // that arrive
  const SystemClock clock_;
  const CpuClock cpu_clock_;
  const LeaseFence fence_ = LeaseFence::AlwaysOpen(clock_);
  tracing::NoTracer tracer_;
  metrics::Registry metrics_;
  cycle::ClusterLoop loop_{clock_};
  ConfirmingWriter writer_;
  ports::DiscardingEventSink events_;
  cycle::ServicesProxy services_;
  const config::SchedulerConfig config_ = config::DefaultSchedulerConfig();
  const runtime::Registry plugins_ = assembly::InTreePlugins();
  std::unique_ptr<assembly::Engine> engine_;
  std::optional<cycle::Scheduler> scheduler_;
  // Microseconds; of the thread of evaluations.
  std::vector<double> explanations_, explanation_cpu_;
  Duration cpu_{};
  std::atomic<std::size_t> asked_ = 0, answered_ = 0, refused_ = 0;
  std::optional<evaluation::PodExplainer> explainer_;
};

void Print(const Settings& settings, const char* kind, Result result) {
  if (settings.json) {
    fmt::print(
        "{{\"name\":\"explanations/{}/"
        "{}\",\"value\":{:.1f},\"unit\":\"us\",\"nodes\":{},\"p50Micros\":{:.1f},"
        "\"p99Micros\":{:.1f},\"explanations\":{},\"explanationP50Micros\":{:.0f},\"explanationP99Micros\":{:"
        ".0f},"
        "\"explanationCpuP50Micros\":{:.0f},\"firstCpuMillis\":{:.1f},\"refused\":{},\"longestStepMillis\":{:"
        ".2f},"
        "\"cpuSeconds\":{:.2f}}}\n",
        settings.nodes, kind, result.bindings.At(0.99), settings.nodes, result.bindings.At(0.5),
        result.bindings.At(0.99), result.explanations.micros.size(), result.explanations.At(0.5),
        result.explanations.At(0.99), result.explanation_cpu.At(0.5), result.first_millis, result.refused,
        result.loop_step_millis, result.cpu_seconds);
  } else {
    fmt::print(
        "{:<8} {:>8.0f} {:>8.0f} {:>8.0f} {:>8} {:>8.2f} {:>8.2f} {:>8.2f} {:>9.1f} {:>8} {:>10.2f} {:>7.2f} "
        "{:>5}\n",
        kind, result.bindings.At(0.5), result.bindings.At(0.99), result.bindings.At(0.999),
        result.explanations.micros.size(), result.explanations.At(0.5) / 1e3,
        result.explanations.At(0.99) / 1e3, result.explanation_cpu.At(0.5) / 1e3, result.first_millis,
        result.refused, result.loop_step_millis, result.cpu_seconds, result.resident_kib / 1024);
  }
  std::fflush(stdout);
}

int Run(const Settings& settings) {
  if (!settings.json) {
    fmt::print("{:<8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8} {:>10} {:>7} {:>5}\n", "round",
               "p50 us", "p99 us", "p99.9 us", "explain", "p50 ms", "p99 ms", "CPU ms", "first ms", "refused",
               "step <= ms", "CPU s", "MiB");
  }
  std::vector<double> p99[2];
  for (std::size_t round = 0; round < settings.rounds; ++round) {
    for (const bool with : {false, true}) {
      auto running = std::make_unique<Round>(settings, with);
      Result result = running->Run();
      p99[with ? 1 : 0].push_back(result.bindings.At(0.99));
      Print(settings, with ? "with" : "without", std::move(result));
    }
  }
  if (!settings.json) {
    for (auto& values : p99) std::ranges::sort(values);
    const double without = p99[0][p99[0].size() / 2], with = p99[1][p99[1].size() / 2];
    fmt::print("median of p99: {:.0f} us without, {:.0f} us with explanations ({:+.1f} %)\n", without, with,
               (with / without - 1) * 100);
  }
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  using namespace berth::bench;
  KeepFreedMemory();
  Settings settings;
  berth::command_line::Command command(
      "bench_explanations",
      "What fresh explanations cost a scheduler at a steady rate of new pods, in alternating rounds.");
  berth::command_line::FlagSet& flags = command.flags();
  flags.Integer("nodes", settings.nodes, "nodes of the cluster", {.least = 10});
  flags.Integer("bound", settings.bound, "pods on nodes at the start", {.least = 0});
  flags.Real("rate", settings.rate, "new pods per second", {1e-3, 1e6});
  flags.Real("explanations", settings.explanations, "explanations per second", {1e-3, 1e6});
  flags.Real("seconds", settings.seconds, "seconds per round", {1e-3, 1e6});
  flags.Integer("rounds", settings.rounds, "rounds with and without explanations", {.least = 1});
  flags.Bool("json", settings.json, "print one JSON object per line");
  if (const auto code = command.Parse(argc, argv)) return *code;
  return Run(settings);
}
