// Benefit of load-aware scheduling: thousands of TaskManager pods whose usage differs from their requests are
// placed by kube-scheduler's default plugins, by the plugins of the articles as published, by the Trimaran
// plugins, and by Berth's own; in a quiet cluster, during a Prometheus outage, and when hundreds of pods
// arrive simultaneously. Uses the production scheduler with a simulated clock.
//
//   simulate_load [--policies default,load-aware] [--scenarios churn,outage,herd] [--nodes 250] [--seeds 3]
//   [--minutes 180] [--series] > load.jsonl
//
// Prints one JSON object per run; with --series also one per minute of each run of the first seed.
// bench/load/plot draws them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "bench/load/article_plugins.hpp"
#include "bench/load/meter.hpp"
#include "bench/load/world.hpp"
#include "bench/no_writes.hpp"
#include "command_line/command.hpp"
#include "kubernetes/ports/dry_run_ports.hpp"
#include "observability/log/log.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cycle/scheduler.hpp"

namespace berth::bench {
namespace {

constexpr double kStep = 5;  // seconds
constexpr double kHot = 0.9;
constexpr double kWarmUp = 3600;  // not measured: all jobs of the first hour start simultaneously

struct Policy {
  std::string name;
  std::string plugins;  // of the profile, YAML
  std::string args = "[]";
};

// A profile with only this score plugin, as in the article on NetworkTraffic.
std::string Alone(const std::string& plugin) {
  return fmt::format("{{score: {{disabled: [{{name: '*'}}], enabled: [{{name: {}}}]}}}}", plugin);
}
std::string Beside(const std::string& plugin, int weight, const std::string& point = "score") {
  return fmt::format("{{{}: {{enabled: [{{name: {}, weight: {}}}]}}}}", point, plugin, weight);
}

// The Trimaran plugins with their default arguments.
Policy Trimaran(std::string name, const std::string& plugin) {
  return {
      std::move(name), Beside(plugin, 5),
      fmt::format("[{{name: {}, args: {{metricProvider: {{type: Prometheus, address: 'http://p:9090'}}}}}}]",
                  plugin)};
}

const std::vector<Policy>& Policies() {
  static const std::vector<Policy> kPolicies = {
      {"default", "{}"},
      {"article-traffic", Alone("article-traffic")},
      {"article-cpu", Beside("article-cpu", 1)},
      {"network-traffic", Alone("NetworkTraffic"),
       "[{name: NetworkTraffic, args: {prometheusAddress: 'http://p:9090'}}]"},
      {"cpu-usage", Beside("CPUUsage", 5)},
      Trimaran("target-load-packing", "TargetLoadPacking"),
      Trimaran("load-variation", "LoadVariationRiskBalancing"),
      Trimaran("low-risk", "LowRiskOverCommitment"),
      {"load-aware", Beside("LoadAware", 5, "multiPoint"), "[{name: LoadAware, args: {preset: streaming}}]"},
      // Meter has the history of one period.
      {"load-aware-forecast", Beside("LoadAware", 5, "multiPoint"),
       fmt::format("[{{name: LoadAware, args: {{preset: streaming, forecast: {{cpuWeight: 2, percentile: {}, "
                   "horizon: {}s, period: {}s, periods: 1}}}}}}]",
                   Meter::kPercentile, Meter::kHorizon, Meter::kPeriod)},
  };
  return kPolicies;
}

std::string ConfigOf(const Policy& policy) {
  return fmt::format(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "profiles: [{{schedulerName: default-scheduler, plugins: {}, pluginConfig: {}}}]\n",
      policy.plugins, policy.args);
}

constexpr double kDisturbanceStart = kWarmUp + 1800;

struct Scenario {
  std::string name;
  bool outage = false;  // no answers for 45 minutes, starting half an hour after the warm-up
  double burst = 0;     // TaskManagers per node that arrive simultaneously at kDisturbanceStart
  double batch_share = 0;
  double disk_share = 0;
  double lost_scrapes = 0;  // share
  double delay = 0;         // seconds until samples can be queried
  double restart_period =
      0;  // seconds between restarts of Prometheus, each without answers for 90 s; 0: none
  bool PrometheusUp(double time) const {
    if (restart_period > 0 && std::fmod(time, restart_period) < 90) return false;
    return !outage || time < kDisturbanceStart || time >= kDisturbanceStart + 45 * 60;
  }
};
const std::vector<Scenario>& Scenarios() {
  static const std::vector<Scenario> kScenarios = {
      {.name = "churn"},
      {.name = "outage", .outage = true},
      {.name = "herd", .burst = 2.4},
      {.name = "mixed", .batch_share = 0.4, .disk_share = 0.5},
      {.name = "faults", .lost_scrapes = 0.1, .delay = 45, .restart_period = 1200},
  };
  return kScenarios;
}

WorldOptions WorldOf(const Scenario& scenario, std::size_t nodes, std::uint64_t seed) {
  WorldOptions options{
      .nodes = nodes, .batch_share = scenario.batch_share, .disk_share = scenario.disk_share};
  options.applications = std::max<std::size_t>(10, nodes * 12 / 25);
  options.seed = seed;
  return options;
}

// Returns each binding to the simulation.
class Binder final : public NoWrites {
 public:
  void Bind(ports::Binding binding, ports::WriteDone done) override {
    bound.push_back(std::move(binding));
    done({});
  }
  std::vector<ports::Binding> bound;
};

// The result of a run.
struct Result {
  double hot = 0;        // share of node-minutes beyond kHot
  double imbalance = 0;  // standard deviation of the nodes' demand, in percent of a node, averaged over time
  // Number of nodes and steps by the demand for cores, in percent of the node; the last entry is all above.
  std::vector<std::size_t> by_demand = std::vector<std::size_t>(1001);
  Work work;
  std::vector<double> waits;  // seconds from submission to placing
  std::size_t never_placed = 0;
  std::size_t steps = 0;
};

class Run {
 public:
  Run(const Policy& policy, const Scenario& scenario, std::size_t nodes, std::uint64_t seed)
      : policy_(policy),
        scenario_(scenario),
        seed_(seed),
        world_(WorldOf(scenario, nodes, seed)),
        meter_(world_, {.lost = scenario.lost_scrapes, .delay = scenario.delay, .seed = seed}) {
    prometheus_.meter = &meter_;
    auto registry = assembly::InTreePlugins();
    registry.AddForeign("article-cpu", [this](const auto&, auto&) -> framework::PluginOrError {
      return std::make_unique<ArticleCpu>(prometheus_);
    });
    registry.AddForeign("article-traffic", [this](const auto&, auto&) -> framework::PluginOrError {
      return std::make_unique<ArticleTraffic>(prometheus_);
    });
    const config::ParseOptions options{.gates = {}, .codecs = &registry.codecs(), .read_file = {}};
    const auto config = config::ParseSchedulerConfig(ConfigOf(policy), options).value();
    std::vector<std::string> notes;
    engine_ = assembly::Engine::Build(config, registry, {binder_, events_, loop_, services_}, notes).value();
    measurements_ = &engine_->handle().signals;
    measurements_->SetClock(clock_);
    cycle::SchedulerOptions scheduler;
    scheduler.algorithm.seed = seed;
    scheduler_ = std::make_unique<cycle::Scheduler>(
        scheduler,
        cycle::SchedulerParts{loop_, services_, engine_->handle(), engine_->cache(), engine_->profiles(),
                              clock_, metrics_, engine_->shared_extenders(), fence_, tracer_,
                              [this](std::size_t profile) { return engine_->IsMeasured(profile); }});
  }

  Result Go(double minutes, bool series) {
    for (std::size_t i = 0; i < world_.nodes().size(); ++i)
      loop_.sink().On(
          ports::Change<api::Node>{nullptr, std::make_shared<const api::Node>(World::MakeNode(i))});
    loop_.sink().OnSynced();
    while (world_.now() < kWarmUp + minutes * 60) {
      Advance();
      if (series && world_.now() > kWarmUp && std::fmod(world_.now(), 60) < kStep) PrintMinute();
    }
    for (const auto& [name, pod] : world_.pods()) result_.never_placed += pod.node < 0;
    return result_;
  }

 private:
  void Advance() {
    const bool burst =
        scenario_.burst > 0 && world_.now() < kDisturbanceStart && world_.now() + kStep >= kDisturbanceStart;
    if (burst)
      world_.SubmitBurst(static_cast<int>(scenario_.burst * static_cast<double>(world_.nodes().size())));
    World::Changes changes = world_.Step(kStep);
    clock_.Advance(std::chrono::seconds(static_cast<int>(kStep)));
    since_scrape_ += kStep;
    if (since_scrape_ >= Meter::kInterval) Scrape();
    for (const api::PodPtr& pod : changes.ended) loop_.sink().On(ports::Change<api::Pod>{pod, nullptr});
    for (const api::PodPtr& pod : changes.submitted) loop_.sink().On(ports::Change<api::Pod>{nullptr, pod});
    RunUntilIdle();
    if (world_.now() > kWarmUp) Count(changes.work);
  }

  void Scrape() {
    since_scrape_ = 0;
    meter_.Scrape();
    prometheus_.up = scenario_.PrometheusUp(world_.now());
    if (prometheus_.up) return meter_.AnswerAll(*measurements_, clock_.Now());
    for (std::size_t i = 0; i < measurements_->size(); ++i)
      measurements_->Failed(static_cast<load_metrics::SignalId>(i), clock_.Now(), "connection refused");
  }

  // Runs until no work is left at this time; bindings become visible in the next iteration.
  void RunUntilIdle() {
    do {
      while (loop_.RunOnce(*scheduler_)) {
      }
      for (const ports::Binding& binding : std::exchange(binder_.bound, {})) {
        const TaskManager& pod = world_.pods().at(binding.name);
        if (pod.submitted > kWarmUp) result_.waits.push_back(world_.now() - pod.submitted);
        const api::PodPtr before = pod.pod;
        const auto start =
            std::chrono::duration_cast<std::chrono::seconds>(clock_.WallNow().time_since_epoch());
        loop_.sink().On(
            ports::Change<api::Pod>{before, world_.Place(binding.name, binding.node, start.count())});
      }
    } while (loop_.RunOnce(*scheduler_));
  }

  void Count(const Work& work) {
    ++result_.steps;
    result_.work.demanded += work.demanded;
    result_.work.lost += work.lost;
    result_.work.job_demanded += work.job_demanded;
    result_.work.job_lost += work.job_lost;
    double sum = 0, squares = 0;
    std::size_t hot = 0;
    for (const NodeLoad& node : world_.nodes()) {
      sum += node.Share();
      squares += node.Share() * node.Share();
      hot += node.Share() > kHot || node.bytes > kHot * kLinkBytes ||
             node.disk / kDiskBytes + kDiskOfSystem > kHot;
      const auto percent = static_cast<std::size_t>(100 * node.Share());
      ++result_.by_demand[std::min(percent, result_.by_demand.size() - 1)];
    }
    const auto nodes = static_cast<double>(world_.nodes().size());
    const double mean = sum / nodes;
    result_.hot += static_cast<double>(hot) / nodes;
    result_.imbalance += std::sqrt(std::max(0.0, squares / nodes - mean * mean));
    minute_.demanded += work.job_demanded;
    minute_.lost += work.job_lost;
  }

  void PrintMinute() {
    std::vector<double> shares;
    for (const NodeLoad& node : world_.nodes()) shares.push_back(100 * node.Share());
    std::ranges::sort(shares);
    const auto at = [&](double q) {
      return shares[static_cast<std::size_t>(q * static_cast<double>(shares.size() - 1))];
    };
    std::size_t waiting = 0;
    for (const auto& [name, pod] : world_.pods()) waiting += pod.node < 0;
    fmt::print(
        R"({{"series":"{}","scenario":"{}","seed":{},"minute":{:.0f},"p5":{:.1f},"p50":{:.1f},"p95":{:.1f},"p99":{:.1f},"max":{:.1f},"lost":{:.2f},"waiting":{}}})"
        "\n",
        policy_.name, scenario_.name, seed_, (world_.now() - kWarmUp) / 60, at(0.05), at(0.5), at(0.95),
        at(0.99), at(1), minute_.demanded > 0 ? 100 * minute_.lost / minute_.demanded : 0, waiting);
    minute_ = {};
  }

  struct Minute {
    double demanded = 0, lost = 0;
  };

  const Policy& policy_;
  const Scenario& scenario_;
  const std::uint64_t seed_;
  World world_;
  Meter meter_;
  Prometheus prometheus_;
  ManualClock clock_;
  const LeaseFence fence_ = LeaseFence::AlwaysOpen(clock_);
  tracing::NoTracer tracer_;
  metrics::Registry metrics_;
  Binder binder_;
  ports::DiscardingEventSink events_;
  cycle::ClusterLoop loop_{clock_};
  cycle::ServicesProxy services_;
  std::unique_ptr<assembly::Engine> engine_;
  load_metrics::SignalTable* measurements_ = nullptr;
  std::unique_ptr<cycle::Scheduler> scheduler_;
  double since_scrape_ = 0;
  Result result_;
  Minute minute_;
};

// The smallest demand that a share `q` of all nodes and steps does not exceed, in whole percent.
std::size_t DemandAt(const std::vector<std::size_t>& by_demand, double q) {
  const auto all = static_cast<double>(std::accumulate(by_demand.begin(), by_demand.end(), std::size_t{0}));
  std::size_t percent = 0;
  for (double below = 0; percent + 1 < by_demand.size(); ++percent) {
    below += static_cast<double>(by_demand[percent]);
    if (below >= q * all) break;
  }
  return percent + 1;
}

void Print(const Policy& policy, const Scenario& scenario, std::uint64_t seed, Result result) {
  std::ranges::sort(result.waits);
  const auto wait = [&](double q) {
    return result.waits.empty()
               ? 0
               : result.waits[static_cast<std::size_t>(q * static_cast<double>(result.waits.size() - 1))];
  };
  const auto steps = static_cast<double>(result.steps);
  fmt::print(
      R"({{"policy":"{}","scenario":"{}","seed":{},"placed":{},"hotNodePercent":{:.3f},"nodeP99Percent":{},"imbalancePercent":{:.2f},"lostWorkPercent":{:.3f},"lostJobWorkPercent":{:.3f},"waitP99Seconds":{:.0f},"waitMaxSeconds":{:.0f},"neverPlaced":{}}})"
      "\n",
      policy.name, scenario.name, seed, result.waits.size(), 100 * result.hot / steps,
      DemandAt(result.by_demand, 0.99), 100 * result.imbalance / steps,
      100 * result.work.lost / result.work.demanded, 100 * result.work.job_lost / result.work.job_demanded,
      wait(0.99), wait(1), result.never_placed);
  std::fflush(stdout);
}

template <class T>
std::vector<std::string> NamesOf(const std::vector<T>& all) {
  std::vector<std::string> names;
  for (const T& one : all) names.push_back(one.name);
  return names;
}

int Main(int argc, char** argv) {
  command_line::Command command(
      "simulate_load",
      "Places simulated TaskManager pods with several policies and reports the work that they lost.");
  std::vector<std::string> policies = NamesOf(Policies());
  std::vector<std::string> scenarios = NamesOf(Scenarios());
  std::size_t nodes = 250;
  std::uint64_t seeds = 3;
  double minutes = 180;
  bool series = false;
  command_line::FlagSet& flags = command.flags();
  flags.Choices("policies", policies, NamesOf(Policies()), "policies to compare");
  flags.Choices("scenarios", scenarios, NamesOf(Scenarios()), "scenarios to run");
  flags.Integer("nodes", nodes, "size of the cluster; applications and bursts grow with it", {20, 1000});
  flags.Integer("seeds", seeds, "runs of each scenario and policy, with different jobs", {1, 100});
  flags.Real("minutes", minutes, "simulated minutes, after a warm-up of one hour", {5, 10000});
  flags.Bool("series", series, "also print every minute of the runs with the first seed");
  if (const auto code = command.Parse(argc, argv)) return *code;
  for (const Scenario& scenario : Scenarios()) {
    if (std::ranges::find(scenarios, scenario.name) == scenarios.end()) continue;
    for (const Policy& policy : Policies()) {
      if (std::ranges::find(policies, policy.name) == policies.end()) continue;
      for (std::uint64_t seed = 1; seed <= seeds; ++seed)
        Print(policy, scenario, seed, Run(policy, scenario, nodes, seed).Go(minutes, series && seed == 1));
    }
  }
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
