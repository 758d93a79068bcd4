// Random search for two defects of LoadAware: a pod waits although a node is idle, and a pod is placed on a
// node whose fresh measurement is above a threshold. Each seed is a small cluster with random arguments,
// loads, pods and faults of the monitoring, for some minutes of simulated time. Uses the production
// scheduler.
//
//   search_load_aware [--seeds 1000] [--first-seed 1] [--minutes 12]
//
// Prints one JSON object per seed with a defect, and a summary. Ends with exit code 1 if there was a defect.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "bench/load/random_args.hpp"
#include "bench/load/random_monitoring.hpp"
#include "command_line/command.hpp"
#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "scheduler/plugins/load_aware/load_aware_args.hpp"
#include "scheduler/plugins/load_aware/load_signal.hpp"
#include "testing/builders.hpp"

namespace berth::bench {
namespace {

using load_metrics::SignalId;
using load_metrics::SignalState;
using namespace std::chrono_literals;

constexpr std::size_t kMostNodes = 8;
constexpr std::size_t kMostPods = 30;  // fit on one node, so that only the load rejects
// The longest back-off, and the second in which it ends.
constexpr int kLongestRetrySeconds = 12;
// A pod that was placed later than this before a poll is not measured: 10 s to start, 15 s between two
// scrapes, and the fraction of a second that is missing in the start time of a pod.
constexpr Duration kUnmeasured = 26s;

struct Defect {
  std::string text;
  int second = 0;
};

struct Counts {
  std::uint64_t placed = 0;
  std::uint64_t waited = 0;     // pods and seconds without an idle node
  std::uint64_t hot_nodes = 0;  // nodes and seconds with a fresh measurement above a threshold
  void Add(const Counts& other) {
    placed += other.placed;
    waited += other.waited;
    hot_nodes += other.hot_nodes;
  }
};

const runtime::Registry& Plugins() {
  static const runtime::Registry kPlugins = assembly::InTreePlugins();
  return kPlugins;
}

config::SchedulerConfig ConfigOf(const std::string& args) {
  config::ParseOptions options;
  options.codecs = &Plugins().codecs();
  return config::ParseSchedulerConfig(
             "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
             "profiles: [{schedulerName: default-scheduler, plugins: {multiPoint: {enabled: [{name: "
             "LoadAware, "
             "weight: 5}]}}, pluginConfig: [{name: LoadAware, args: " +
                 args + "}]}]\n",
             options)
      .value();
}

plugins::LoadAwareArgs ParsedArgs(const config::SchedulerConfig& config) {
  return plugins::ParseLoadAwareArgs({&config.profiles.front().plugin_args.find("LoadAware")->second, "args"})
      .value();
}

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(seed), yaml_(RandomLoadAwareArgs(random_)) {
    const config::SchedulerConfig config = ConfigOf(yaml_);
    args_ = ParsedArgs(config);
    cycle::SchedulerOptions options;
    options.algorithm.seed = seed;
    options.measurement_wait = Chance(0.5) ? 5s : 0s;
    environment_.Build(config, Plugins(), options);
    load_metrics::SignalTable& signals = environment_.engine->handle().signals;
    signals.SetClock(environment_.clock);
    monitoring_.emplace(signals, environment_.clock, random_);
    for (const plugins::LoadSignalArgs& signal : args_.signals) {
      const SignalId id = signals.Declare(plugins::SignalSpecOf(signal, args_));
      monitoring_->SetFull(id, signal.full);
      if (signal.threshold) thresholds_.push_back({id, signal.name, *signal.threshold});
    }
    monitoring_->SetPodUsage([this] { return Usage(); });
    monitoring_->SetWorkloads({"w0", "w1"});
    environment_.loop.sink().OnSynced();
    for (std::size_t nodes = 2 + UpTo(5); nodes > 0; --nodes) AddNode(false);
    Settle();  // an answer is assigned to the nodes that exist
  }

  std::optional<Defect> Go(int seconds) {
    for (second_ = 0; second_ < seconds && !defect_; ++second_) {
      environment_.clock.Advance(1s);
      monitoring_->Advance();
      ChangeCluster();
      Settle();
      CheckWaiting();
    }
    return defect_;
  }
  const std::string& args() const { return yaml_; }
  const Counts& counts() const { return counts_; }

 private:
  struct Threshold {
    SignalId id{};
    std::string signal;
    double percent = 0;
  };
  struct SimulatedPod {
    api::PodPtr object;
    std::string node;        // empty: pending
    bool is_daemon = false;  // exempt from thresholds
    double cores = 0, load = 0;
    MonoTime since{};   // its start as far as the scheduler can know
    MonoTime starts{};  // when its start time becomes known
    bool started = false;
    MonoTime ends{};
    int open_seconds = 0;  // for which it has been pending although a node was idle
  };

  bool Chance(double share) { return std::uniform_real_distribution<double>()(random_) < share; }
  std::size_t UpTo(std::size_t most) { return static_cast<std::size_t>(random_() % most); }
  MonoTime Now() const { return environment_.clock.Now(); }
  void Report(std::string text) {
    if (!defect_) defect_ = Defect{std::move(text), second_};
  }

  // --- the cluster ---

  void ChangeCluster() {
    if (Chance(0.02)) {
      for (std::size_t burst = 1 + UpTo(Chance(0.2) ? 12 : 3); burst > 0 && pods_.size() < kMostPods; --burst)
        AddPod();
    }
    if (Chance(0.002) && nodes_.size() < kMostNodes) AddNode(true);
    if (Chance(0.001) && nodes_.size() > 2)
      RemoveNode(std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(UpTo(nodes_.size())))->first);
    for (auto at = pods_.begin(); at != pods_.end();) {
      SimulatedPod& pod = at->second;
      if (Now() >= pod.ends) {
        environment_.loop.sink().On(ports::Change<api::Pod>{pod.object, nullptr});
        at = pods_.erase(at);
        continue;
      }
      if (!pod.node.empty() && !pod.started && Now() >= pod.starts) Start(pod);
      ++at;
    }
    for (const auto& [name, node] : nodes_) {
      double load = 0;
      for (const auto& [key, pod] : pods_) load += pod.node == name && pod.started ? pod.load : 0;
      monitoring_->SetPodLoad(name, load);
    }
  }

  void AddNode(bool is_new) {
    const std::string name = fmt::format("n{}", ++node_number_);
    nodes_[name] = std::make_shared<const api::Node>(
        testing::MakeNode(name).Cpu("64").Memory("256Gi").Allocatable("pods", "110"));
    monitoring_->AddNode(name, is_new);
    environment_.loop.sink().On(ports::Change<api::Node>{nullptr, nodes_[name]});
  }

  void RemoveNode(std::string name) {
    for (auto at = pods_.begin(); at != pods_.end();) {
      if (at->second.node != name) {
        ++at;
        continue;
      }
      environment_.loop.sink().On(ports::Change<api::Pod>{at->second.object, nullptr});
      at = pods_.erase(at);
    }
    environment_.loop.sink().On(ports::Change<api::Node>{nodes_.at(name), nullptr});
    nodes_.erase(name);
    monitoring_->RemoveNode(name);
  }

  void AddPod() {
    SimulatedPod pod;
    pod.is_daemon = Chance(0.05);
    pod.cores = 0.1 + 1.9 * std::uniform_real_distribution<double>()(random_);
    pod.load = 8 * std::uniform_real_distribution<double>()(random_);
    pod.ends = Now() + std::chrono::seconds(30 + UpTo(600));
    const std::string name = fmt::format("p{}", ++pod_number_);
    testing::PodBuilder builder = testing::MakePod(name);
    builder.Uid(name).Scheduler("default-scheduler");
    if (Chance(0.9)) builder.Cpu(fmt::format("{}m", static_cast<int>(1000 * pod.cores))).Memory("4Gi");
    api::OwnerReference owner;
    owner.kind = pod.is_daemon ? "DaemonSet" : "StatefulSet";
    owner.name = fmt::format("w{}", UpTo(3));
    builder.raw().metadata.controller = std::move(owner);
    pod.object = builder.Share();
    environment_.loop.sink().On(ports::Change<api::Pod>{nullptr, pod.object});
    pods_[name] = std::move(pod);
  }

  void Start(SimulatedPod& pod) {
    api::Pod object = *pod.object;
    object.status.start_time =
        std::chrono::duration_cast<std::chrono::seconds>(environment_.clock.WallNow().time_since_epoch())
            .count();
    object.status.phase = "Running";
    Update(pod, std::move(object));
    pod.started = true;
  }
  void Update(SimulatedPod& pod, api::Pod object) {
    const api::PodPtr before = std::exchange(pod.object, std::make_shared<const api::Pod>(std::move(object)));
    environment_.loop.sink().On(ports::Change<api::Pod>{before, pod.object});
    pod.since = Now();
  }

  std::vector<std::pair<std::string, double>> Usage() const {
    std::vector<std::pair<std::string, double>> usage;
    for (const auto& [name, pod] : pods_) {
      if (pod.started) usage.emplace_back(name, pod.cores * pod.load / 4);
    }
    return usage;
  }

  // Runs until there is nothing to do at this time; bindings become visible at once.
  void Settle() {
    environment_.Settle();
    while (seen_bindings_ < environment_.api.bindings.size()) {
      for (; seen_bindings_ < environment_.api.bindings.size(); ++seen_bindings_) {
        const ports::Binding& binding = environment_.api.bindings[seen_bindings_];
        const auto found = pods_.find(binding.name);
        if (found == pods_.end()) continue;
        SimulatedPod& pod = found->second;
        if (!pod.is_daemon) CheckPlacement(binding.name, binding.node);
        ++counts_.placed;
        pod.node = binding.node;
        pod.starts = Now() + std::chrono::seconds(1 + UpTo(20));
        api::Pod object = *pod.object;
        object.spec.node_name = binding.node;
        Update(pod, std::move(object));
      }
      environment_.Settle();
    }
  }

  // --- the two defects ---

  // Whether a fresh measurement, which every guard trusts, is above the threshold. `above`: percent to add to
  // the threshold.
  bool IsHot(const Threshold& threshold, const std::string& node) const {
    const RandomMonitoring::Delivered& delivered = monitoring_->delivered(threshold.id);
    const auto value = delivered.percent.find(node);
    return delivered.answered && !delivered.failed && value != delivered.percent.end() &&
           value->second > threshold.percent + 1e-9 && monitoring_->IsUndisturbed(node) &&
           environment_.engine->IsMeasured(0);
  }

  void CheckPlacement(const std::string& pod, const std::string& node) {
    if (!nodes_.contains(node)) return;
    for (const Threshold& threshold : thresholds_) {
      if (!IsHot(threshold, node)) continue;
      Report(fmt::format("{} was placed on {}, whose {} load is {:.1f} percent, above {}", pod, node,
                         threshold.signal, monitoring_->delivered(threshold.id).percent.at(node),
                         threshold.percent));
    }
  }

  bool HasUnmeasuredPods(const std::string& node, MonoTime polled_at) const {
    return std::ranges::any_of(pods_, [&](const auto& entry) {
      return entry.second.node == node && entry.second.since > polled_at - kUnmeasured;
    });
  }

  // Whether nothing that is documented can close the node: neither a measurement, nor the hysteresis, nor the
  // largest estimate for pods placed since, nor a missing measurement.
  bool IsIdle(const std::string& node) const {
    const load_metrics::SignalTable& signals = environment_.engine->handle().signals;
    const bool strict = args_.reject_without_measurements;
    if (strict && !(environment_.engine->IsMeasured(0) && monitoring_->IsUndisturbed(node))) return false;
    return std::ranges::all_of(thresholds_, [&](const Threshold& threshold) {
      const RandomMonitoring::Delivered& delivered = monitoring_->delivered(threshold.id);
      const SignalState state = signals.signal(threshold.id).state;
      if (state == SignalState::kWaiting || state == SignalState::kGone) return !strict;
      const auto value = delivered.percent.find(node);
      if (value == delivered.percent.end()) return !strict;
      if (value->second > threshold.percent - args_.hysteresis - 1e-9) return false;
      return !HasUnmeasuredPods(node, delivered.polled_at) ||
             value->second + args_.max_estimate < threshold.percent;
    });
  }

  void CheckWaiting() {
    const auto idle = std::ranges::find_if(nodes_, [this](const auto& entry) { return IsIdle(entry.first); });
    for (auto& [name, pod] : pods_) {
      if (!pod.node.empty()) continue;
      pod.open_seconds = idle == nodes_.end() ? 0 : pod.open_seconds + 1;
      if (idle == nodes_.end()) ++counts_.waited;
      if (pod.open_seconds > kLongestRetrySeconds)
        Report(fmt::format("{} waits although {} is idle", name, idle->first));
    }
    for (const auto& [node, object] : nodes_) {
      counts_.hot_nodes += std::ranges::any_of(
          thresholds_, [&](const Threshold& threshold) { return IsHot(threshold, node); });
    }
  }

  std::mt19937_64 random_;
  const std::string yaml_;
  plugins::LoadAwareArgs args_;
  cycle::SchedulerEnvironment environment_;
  std::optional<RandomMonitoring> monitoring_;
  std::vector<Threshold> thresholds_;
  std::map<std::string, api::NodePtr> nodes_;
  std::map<std::string, SimulatedPod> pods_;
  std::size_t node_number_ = 0, pod_number_ = 0, seen_bindings_ = 0;
  int second_ = 0;
  std::optional<Defect> defect_;
  Counts counts_;
};

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

int Main(int argc, char** argv) {
  command_line::Command command("search_load_aware",
                                "Searches random clusters for pods that wait although a node is idle, and "
                                "for pods placed on hot nodes.");
  std::uint64_t seeds = 1000, first = 1, minutes = 12;
  command_line::FlagSet& flags = command.flags();
  flags.Integer("seeds", seeds, "number of random clusters", {1, 10'000'000});
  flags.Integer("first-seed", first, "seed of the first cluster");
  flags.Integer("minutes", minutes, "simulated minutes of each cluster", {1, 1000});
  if (const auto code = command.Parse(argc, argv)) return *code;
  std::size_t defects = 0;
  Counts counts;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    RandomRun run(seed);
    const auto defect = run.Go(static_cast<int>(60 * minutes));
    counts.Add(run.counts());
    if (!defect) continue;
    ++defects;
    fmt::print(R"({{"seed":{},"second":{},"defect":"{}","args":"{}"}})"
               "\n",
               seed, defect->second, Escaped(defect->text), Escaped(run.args()));
    std::fflush(stdout);
  }
  fmt::print(R"({{"seeds":{},"defects":{},"placed":{},"waitedPodSeconds":{},"hotNodeSeconds":{}}})"
             "\n",
             seeds, defects, counts.placed, counts.waited, counts.hot_nodes);
  // A search in which no pod waits and no node is hot finds nothing.
  if (counts.placed == 0 || counts.waited == 0 || counts.hot_nodes == 0) {
    fmt::print(stderr, "search_load_aware: nothing was searched: increase --seeds or --minutes\n");
    return 1;
  }
  return defects == 0 ? 0 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
