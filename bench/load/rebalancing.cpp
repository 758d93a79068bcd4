// Effect of `berth rebalance` in many small clusters: the share of hot nodes, the evictions, and whether pods
// move to and fro. The production scheduler places the pods with LoadAware; the planner of berth rebalance
// runs once a minute with its default settings. Compared with no rebalancing and, if its program is given,
// with the descheduler's LowNodeUtilization every five minutes, once with the Metrics API as its source and
// once with Prometheus.
//
//   simulate_rebalancing [--policies none,berth,...] [--seeds 1000] [--nodes 20] [--minutes 120]
//       [--descheduler build/bin/descheduler]
//
// Prints one JSON object per policy, and with --runs one per run. Ends with exit code 1 if pods moved to and
// fro with the policy berth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/load/descheduler.hpp"
#include "bench/load/meter.hpp"
#include "bench/load/world.hpp"
#include "bench/no_writes.hpp"
#include "command_line/command.hpp"
#include "kubernetes/ports/dry_run_ports.hpp"
#include "observability/log/log.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "tools/rebalance/planner.hpp"

namespace berth::bench {
namespace {

constexpr double kStep = 5;  // seconds
constexpr double kHot = 0.9;
constexpr double kWarmUp = 1800;
constexpr double kRound = 60;                            // of berth rebalance
constexpr double kDescheduling = 300;                    // deschedulingInterval in the descheduler's examples
constexpr double kMetricsWindow = 2 * Meter::kInterval;  // of the Metrics API
constexpr double kUnderutilized = 0.5;                   // thresholds
constexpr double kOverutilized = 0.8;                    // targetThresholds; that of LoadAware, too

constexpr const char* kConfig =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    "profiles: [{schedulerName: default-scheduler, plugins: {multiPoint: {enabled: [{name: LoadAware, "
    "weight: "
    "5}]}}, pluginConfig: [{name: LoadAware, args: {preset: balanced, signals: [{name: cpu, threshold: 80, "
    "estimate: {from: history, resource: cpu}}]}}]}]\n";

class Binder final : public NoWrites {
 public:
  void Bind(ports::Binding binding, ports::WriteDone done) override {
    bound.push_back(std::move(binding));
    done({});
  }
  std::vector<ports::Binding> bound;
};

struct Result {
  double hot = 0;  // sum over steps of the share of nodes above kHot
  double steps = 0;
  Work work;
  std::size_t evictions = 0;
  std::size_t repeated = 0;  // evictions of a workload within the cool-down after another one
  std::size_t returned = 0;  // replacements placed on a node that they left within the time of no_return

  std::vector<std::uint64_t> stays = std::vector<std::uint64_t>(rebalance::kRejections);  // pods by reason

  void Add(const Result& other) {
    for (std::size_t i = 0; i < stays.size(); ++i) stays[i] += other.stays[i];
    hot += other.hot;
    steps += other.steps;
    work.demanded += other.work.demanded;
    work.lost += other.work.lost;
    evictions += other.evictions;
    repeated += other.repeated;
    returned += other.returned;
  }
};

class Run {
 public:
  // `descheduler`: null with other policies.
  Run(std::string policy, const WorldOptions& options, Descheduler* descheduler)
      : policy_(std::move(policy)), world_(options), meter_(world_), descheduler_(descheduler) {
    const config::ParseOptions parse{.gates = {}, .codecs = &plugins_.codecs(), .read_file = {}};
    config_ = config::ParseSchedulerConfig(kConfig, parse).value();
    std::vector<std::string> notes;
    engine_ = assembly::Engine::Build(config_, plugins_, {binder_, events_, loop_, services_}, notes).value();
    engine_->handle().signals.SetClock(clock_);
    reader_ = rebalance::LoadReader::Create(config_, engine_->handle(),
                                            {.window = settings_.window, .thresholds = {}})
                  .value();
    cycle::SchedulerOptions scheduler;
    scheduler.algorithm.seed = options.seed;
    scheduler_ = std::make_unique<cycle::Scheduler>(
        scheduler,
        cycle::SchedulerParts{loop_, services_, engine_->handle(), engine_->cache(), engine_->profiles(),
                              clock_, metrics_, engine_->shared_extenders(), fence_, tracer_,
                              [this](std::size_t profile) { return engine_->IsMeasured(profile); }});
  }

  Result Go(double minutes) {
    for (std::size_t i = 0; i < world_.nodes().size(); ++i)
      loop_.sink().On(
          ports::Change<api::Node>{nullptr, std::make_shared<const api::Node>(World::MakeNode(i))});
    loop_.sink().OnSynced();
    if (descheduler_) BeginDescheduling();
    while (world_.now() < kWarmUp + minutes * 60) Advance();
    return result_;
  }

 private:
  void Advance() {
    World::Changes changes = world_.Step(kStep);
    clock_.Advance(std::chrono::seconds(static_cast<int>(kStep)));
    if (IsDue(since_scrape_, Meter::kInterval)) {
      meter_.Scrape();
      meter_.AnswerAll(engine_->handle().signals, clock_.Now());
    }
    for (const api::PodPtr& pod : changes.ended) loop_.sink().On(ports::Change<api::Pod>{pod, nullptr});
    for (const api::PodPtr& pod : changes.submitted) loop_.sink().On(ports::Change<api::Pod>{nullptr, pod});
    RunUntilIdle();
    if (policy_ == "berth" && IsDue(since_round_, kRound)) Rebalance();
    if (descheduler_) {
      CollectForDescheduler();
      if (IsDue(since_round_, kDescheduling)) Deschedule();
    }
    if (world_.now() > kWarmUp) Count(changes.work);
  }

  static bool IsDue(double& since, double interval) {
    since += kStep;
    if (since < interval) return false;
    since = 0;
    return true;
  }

  void RunUntilIdle() {
    do {
      while (loop_.RunOnce(*scheduler_)) {
      }
      for (const ports::Binding& binding : std::exchange(binder_.bound, {})) Place(binding);
    } while (loop_.RunOnce(*scheduler_));
  }

  void Place(const ports::Binding& binding) {
    const TaskManager& pod = world_.pods().at(binding.name);
    const api::PodPtr before = pod.pod;
    const auto start = std::chrono::duration_cast<std::chrono::seconds>(clock_.WallNow().time_since_epoch());
    if (const auto left = left_.find(pod.origin); left != left_.end()) {
      for (const auto& [node, time] : left->second)
        result_.returned += node == binding.node && world_.now() - time < Seconds(settings_.no_return);
    }
    loop_.sink().On(ports::Change<api::Pod>{before, world_.Place(binding.name, binding.node, start.count())});
  }

  static double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

  void Evict(const std::string& name) {
    const TaskManager& pod = world_.pods().at(name);
    ++result_.evictions;
    const auto [last, first] = evicted_.try_emplace(pod.application->name, world_.now());
    if (!first) {
      result_.repeated += world_.now() - last->second < Seconds(settings_.cool_down);
      last->second = world_.now();
    }
    left_[pod.origin].emplace_back(pod.pod->spec.node_name.str(), world_.now());
    const api::PodPtr deleted = world_.Evict(name);
    loop_.sink().On(ports::Change<api::Pod>{deleted, nullptr});
  }

  void Rebalance() {
    std::vector<api::PodPtr> pending;
    for (const auto& [name, pod] : world_.pods()) {
      if (pod.node < 0) pending.push_back(pod.pod);
    }
    history_.Forget(clock_.WallNow(), settings_);
    const rebalance::MeasuredLoad load = reader_->Read();
    const auto plan =
        rebalance::MakePlan({config_, plugins_, *engine_, pending, load, history_, settings_, clock_});
    for (std::size_t i = 0; i < result_.stays.size(); ++i)
      result_.stays[i] += plan.value().rejected_by_reason[i];
    for (const rebalance::Move& move : plan.value().moves) {
      history_.Add({clock_.WallNow(), move.workload, move.from, move.to});
      Evict(move.pod->metadata.name);
    }
    RunUntilIdle();
  }

  bool from_prometheus() const { return policy_ == "descheduler-prometheus"; }

  void BeginDescheduling() {
    std::vector<Descheduler::Node> nodes;
    for (std::size_t i = 0; i < world_.nodes().size(); ++i)
      nodes.push_back({.name = World::NodeName(i), .allocatable = {kCores, kMemoryBytes}});
    descheduler_->Begin(
        nodes, from_prometheus() ? Descheduler::Source::kPrometheus : Descheduler::Source::kKubernetesMetrics,
        kUnderutilized, kOverutilized);
  }

  void CollectForDescheduler() {
    std::vector<Descheduler::NodeUsage> usage;
    for (std::size_t node = 0; node < world_.nodes().size(); ++node) {
      if (const auto share = meter_.BusyShare(node, from_prometheus() ? Meter::kWindow : kMetricsWindow))
        usage.push_back({World::NodeName(node), {*share * kCores, world_.nodes()[node].memory}});
    }
    if (!usage.empty()) descheduler_->Collect(usage);
  }

  void Deschedule() {
    std::vector<Descheduler::Pod> pods;
    for (const auto& [name, pod] : world_.pods()) {
      if (pod.node < 0) continue;
      pods.push_back({.name = name,
                      .node = World::NodeName(static_cast<std::size_t>(pod.node)),
                      .deployment = pod.application->name,
                      .usage = {pod.cores, pod.application->memory_bytes}});
    }
    for (const std::string& name : descheduler_->Balance(pods)) Evict(name);
    RunUntilIdle();
  }

  void Count(const Work& work) {
    result_.steps += 1;
    result_.work.demanded += work.demanded;
    result_.work.lost += work.lost;
    const auto hot =
        std::ranges::count_if(world_.nodes(), [](const NodeLoad& node) { return node.Share() > kHot; });
    result_.hot += static_cast<double>(hot) / static_cast<double>(world_.nodes().size());
  }

  const std::string policy_;
  World world_;
  Meter meter_;
  Descheduler* const descheduler_;
  ManualClock clock_;
  const LeaseFence fence_ = LeaseFence::AlwaysOpen(clock_);
  tracing::NoTracer tracer_;
  metrics::Registry metrics_;
  const runtime::Registry plugins_ = assembly::InTreePlugins();
  config::SchedulerConfig config_;
  Binder binder_;
  ports::DiscardingEventSink events_;
  cycle::ClusterLoop loop_{clock_};
  cycle::ServicesProxy services_;
  std::unique_ptr<assembly::Engine> engine_;
  const rebalance::PlanSettings settings_;
  std::unique_ptr<rebalance::LoadReader> reader_;
  rebalance::MoveHistory history_;
  std::unique_ptr<cycle::Scheduler> scheduler_;
  double since_scrape_ = 0, since_round_ = 0;
  std::map<std::string, double> evicted_;  // time of the last eviction, by application
  std::map<std::size_t, std::vector<std::pair<std::string, double>>> left_;  // node and time, by origin
  Result result_;
};

void Print(const std::string& policy, const std::string& run, const Result& result, double seeds) {
  std::string stays;
  for (std::size_t i = 0; i < result.stays.size(); ++i) {
    if (result.stays[i] == 0) continue;
    stays += fmt::format(R"({}"{}":{})", stays.empty() ? "" : ",",
                         rebalance::NameOf(static_cast<rebalance::Rejection>(i)), result.stays[i]);
  }
  fmt::print(
      R"({{"policy":"{}",{},"hotNodePercent":{:.3f},"lostWorkPercent":{:.3f},"evictions":{},"evictionsPerRun":{:.2f},"repeatedEvictions":{},"returns":{},"stays":{{{}}}}})"
      "\n",
      policy, run, 100 * result.hot / result.steps, 100 * result.work.lost / result.work.demanded,
      result.evictions, static_cast<double>(result.evictions) / seeds, result.repeated, result.returned,
      stays);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  command_line::Command command(
      "simulate_rebalancing", "Moves pods away from hot nodes of simulated clusters with several policies.");
  std::vector<std::string> policies = {"none", "berth"};
  std::string program;
  std::uint64_t seeds = 1000, first = 1;
  std::size_t nodes = 20;
  double minutes = 120, busy = 0.5;
  bool runs = false;
  command_line::FlagSet& flags = command.flags();
  flags.Choices("policies", policies, {"none", "berth", "descheduler", "descheduler-prometheus"},
                "policies to compare");
  flags.Path("descheduler", program, "program of tests/descheduler, for its policies");
  flags.Integer("seeds", seeds, "runs of each policy, with different jobs", {1, 100'000});
  flags.Integer("first-seed", first, "seed of the first run");
  flags.Integer("nodes", nodes, "nodes of each cluster", {2, 1000});
  flags.Real("minutes", minutes, "simulated minutes, after a warm-up of half an hour", {5, 10000});
  flags.Real("busy-share", busy, "share of the cores that the jobs request on average", {0.05, 1});
  flags.Bool("runs", runs, "also print every run");
  if (const auto code = command.Parse(argc, argv)) return *code;
  std::size_t to_and_fro = 0;
  for (const std::string& policy : policies) {
    Result total;
    std::optional<Descheduler> descheduler;
    if (policy.starts_with("descheduler")) descheduler.emplace(program);
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
      const Result result = Run(policy,
                                {.nodes = nodes,
                                 .applications = std::max<std::size_t>(4, nodes / 2),
                                 .busy_share = busy,
                                 .job_minutes = 90,
                                 .seed = seed},
                                descheduler ? &*descheduler : nullptr)
                                .Go(minutes);
      total.Add(result);
      if (runs) Print(policy, fmt::format(R"("seed":{})", seed), result, 1);
      if (policy == "berth") to_and_fro += result.repeated + result.returned;
    }
    Print(policy, fmt::format(R"("seeds":{})", seeds), total, static_cast<double>(seeds));
  }
  return to_and_fro == 0 ? 0 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
