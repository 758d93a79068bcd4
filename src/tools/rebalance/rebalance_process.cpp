#include "tools/rebalance/rebalance_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <random>

#include "base/lease_fence.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/connection.hpp"
#include "kubernetes/client/connection_config.hpp"
#include "kubernetes/client/event_sink.hpp"
#include "kubernetes/ports/dry_run_ports.hpp"
#include "observability/log/log.hpp"
#include "process/host_port.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "process/long_running_process.hpp"
#include "process/measuring.hpp"
#include "scheduler/cycle/cluster_follower.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "service/endpoints.hpp"
#include "service/secure_server.hpp"
#include "service/server.hpp"
#include "tools/rebalance/api_evictor.hpp"
#include "tools/rebalance/move_store.hpp"
#include "tools/rebalance/planner.hpp"
#include "tools/rebalance/protection.hpp"
#include "tools/rebalance/report.hpp"
#include "tools/rebalance/round_metrics.hpp"

namespace berth::rebalance {
namespace {

constexpr Duration kPollInterval = std::chrono::milliseconds(100);
// Maximum time to send the last events.
constexpr std::chrono::seconds kLastEvents{2};
// After the loss of the lease the process ends, even if its threads are blocked.
constexpr std::chrono::seconds kGrace{5};

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

// Options that were parsed.
struct Checked {
  std::map<std::string, double> thresholds;
  std::optional<ConfigMapMoveStore::Name> history;
};

// The parts in the order of their dependencies. The loop follows the cluster; rounds are timers on it.
class Process final : public process::LongRunningProcess, private cycle::ChangeObserver {
 public:
  Process(const RebalanceOptions& options, Checked checked, const config::SchedulerConfig& config,
          const runtime::Registry& plugins)
      : options_(options), checked_(std::move(checked)), config_(config), plugins_(plugins) {}

 private:
  Expected<void> Assemble(std::vector<std::string>& notes) override;
  Expected<int> Run() override;
  void Stop() override { loop_.Stop(); }
  Expected<void> Connect();
  Expected<void> Serve();
  void Elect();
  void OnLost();
  void ReleaseLease();

  void Before(const ports::ClusterChange&) override {}
  void After() override {}
  void Synced() override;
  void WaitForMeasurements();
  void Tick();
  // A round: RunRound, OnHistory, MakeMoves if there are any, Finish. Each continues on the loop.
  void RunRound();
  void OnHistory(Expected<Moves> moves);
  void MakeMoves(Plan plan);
  void Finish(const Plan& plan, const std::vector<EvictionOutcome>& outcomes);
  void StopRound(std::string why);
  void EndRound();
  std::vector<api::PodPtr> PendingPods() const;

  bool elects_leader() const { return options_.leader_elect && !options_.once; }

  const RebalanceOptions& options_;
  const Checked checked_;
  const config::SchedulerConfig& config_;
  const runtime::Registry& plugins_;
  const std::string hostname_ = HostName();
  // With several replicas only the leader may evict.
  LeaseFence fence_ = elects_leader() ? LeaseFence(clock_) : LeaseFence::AlwaysOpen(clock_);
  // Of plugins; they are not exported.
  metrics::Registry discarded_metrics_;
  std::unique_ptr<client::Connection> connection_;
  std::unique_ptr<client::Connection> for_events_;
  std::unique_ptr<client::EventSink> events_;  // null: dry run
  ports::DiscardingEventSink no_events_;
  cycle::ClusterLoop loop_{clock_};
  assembly::DryRunPorts no_effects_;  // of plugins
  std::unique_ptr<assembly::Engine> engine_;
  std::unique_ptr<LoadReader> reader_;
  std::optional<cycle::ClusterFollower> follower_;
  std::unique_ptr<process::Measuring> measuring_;
  MoveHistory history_;
  std::unique_ptr<MoveStore> store_;  // null: the history is only in memory
  RoundMetrics round_metrics_{metrics_};
  std::unique_ptr<Evictor> evictor_;
  std::optional<Executor> executor_;
  std::unique_ptr<service::Endpoints> endpoints_;
  std::unique_ptr<http::IoThread> serving_io_;
  std::unique_ptr<service::Server> plain_;
  std::unique_ptr<service::SecureServer> secure_;
  std::unique_ptr<client::LeaderElector> elector_;  // null: without leader election
  std::unique_ptr<client::ClusterSource> source_;
  MonoTime measured_by_{};  // end of the wait for the first measurements
  bool in_round_ = false;
  std::string last_summary_;
  std::atomic<bool> lost_{false};
  int code_ = 0;
  bool round_ended_ = false;
};

Expected<void> Process::Connect() {
  client::ConnectionFlags wanted{options_.kubeconfig, options_.master};
  if (wanted.kubeconfig.empty()) wanted.kubeconfig = config_.client_connection.kubeconfig;
  BERTH_TRY(const client::ConnectionConfig server, client::LoadConnection(wanted, environment_));
  BERTH_TRY(connection_, client::Connection::Open(io_, server, environment_, metrics_, clock_, "rebalance"));
  if (!options_.dry_run || elects_leader()) {
    BERTH_TRY(for_events_, client::Connection::Open(io_, server, environment_, metrics_, clock_, ""));
  }
  if (!options_.dry_run) {
    events_ = std::make_unique<client::EventSink>(
        io_, for_events_->api(), clock_, metrics_,
        client::EventSinkOptions{.hostname = hostname_, .under_pressure = {}});
  }
  return {};
}

Expected<void> Process::Assemble(std::vector<std::string>& notes) {
  BERTH_RETURN_IF_ERROR(Connect());
  BERTH_TRY(engine_,
            assembly::Engine::Build(config_, plugins_, no_effects_.ports(loop_), notes,
                                    {.registry = &discarded_metrics_, .clock = &clock_, .options = {}}));
  BERTH_TRY(reader_, LoadReader::Create(config_, engine_->handle(),
                                        {.window = options_.plan.window, .thresholds = checked_.thresholds}));
  follower_.emplace(engine_->symbols(), engine_->cache(), engine_->pending(), engine_->profiles());
  follower_->Observe(*this);
  BERTH_TRY(measuring_, process::Measuring::Start({options_.metric_sources, engine_->handle(), environment_,
                                                   clock_, metrics_, no_events_, hostname_}));
  if (options_.dry_run) {
    evictor_ = std::make_unique<DryRunEvictor>();
  } else {
    evictor_ = std::make_unique<ApiEvictor>(io_, connection_->api(), fence_);
  }
  if (checked_.history) {
    store_ = std::make_unique<ConfigMapMoveStore>(io_, connection_->api(), fence_, clock_, *checked_.history);
  }
  executor_.emplace(ExecutorParts{.evictor = *evictor_,
                                  .events = events_ ? static_cast<ports::EventSink&>(*events_) : no_events_,
                                  .history = history_,
                                  .metrics = metrics_,
                                  .clock = clock_,
                                  .post = loop_.poster()});
  if (!options_.once) BERTH_RETURN_IF_ERROR(Serve());
  client::ClusterSourceOptions source;
  source.retained = engine_->retained_fields();
  for (std::string& annotation : ProtectingAnnotations())
    source.retained.annotations.push_back(std::move(annotation));
  source.on_synced = [this] {
    if (elects_leader()) Elect();
  };
  source_ =
      SourceOf(connection_->api(), loop_.sink(), config_.client_connection, measuring_, std::move(source));
  return {};
}

Expected<void> Process::Serve() {
  endpoints_ = std::make_unique<service::Endpoints>(metrics_);
  endpoints_->AddHealth("healthz", {});
  endpoints_->AddHealth("livez", {});
  endpoints_->AddHealth("readyz", {{"informer-sync", [this]() -> std::optional<std::string> {
                                      if (loop_.synced()) return std::nullopt;
                                      return "the caches are not synchronized yet";
                                    }}});
  serving_io_ = std::make_unique<http::IoThread>(clock_);
  if (!options_.http_address.empty()) {
    const auto address = process::ParseHostPort(options_.http_address);
    if (!address)
      return Invalid(fmt::format("--http-address {}: expected ADDRESS:PORT such as 127.0.0.1:10261",
                                 options_.http_address));
    BERTH_TRY(plain_,
              service::Server::Listen(*serving_io_, *endpoints_, service::PlainContent::kHealthAndMetrics,
                                      address->host, address->port));
    log::Info("Serving plain HTTP", {{"address", address->host}, {"port", plain_->port()}});
  }
  BERTH_TRY(secure_,
            service::SecureServer::Start(options_.serving, options_.authentication, options_.authorization,
                                         {*serving_io_, environment_, clock_, metrics_, *endpoints_}));
  return {};
}

// --- leadership ---

// On the IO thread.
void Process::Elect() {
  client::LeaderElectionOptions lease = options_.lease;
  lease.identity = client::NewIdentity(hostname_);
  lease.component = "berth-rebalance";
  lease.seed = std::random_device{}();
  elector_ = std::make_unique<client::LeaderElector>(
      io_, connection_->api(), for_events_->api(), clock_, metrics_, fence_, std::move(lease),
      client::LeaderElectionHandlers{.on_started = [] { log::Info("Leading: rounds begin"); },
                                     .on_stopped = [this] { OnLost(); }});
  elector_->Start();
}

void Process::OnLost() {
  log::Error("Leaderelection lost");
  lost_.store(true, std::memory_order_relaxed);
  forced_end_.Within(kGrace);
  loop_.Stop();
}

void Process::ReleaseLease() {
  if (!elector_ || lost_.load(std::memory_order_relaxed)) return;
  const auto ended = std::make_shared<std::promise<bool>>();
  auto result = ended->get_future();
  elector_->Release([ended](bool free) { ended->set_value(free); });
  result.wait_for(options_.lease.renew_deadline + kGrace);
}

// --- rounds ---

void Process::Synced() {
  measured_by_ = clock_.Now() + options_.measurement_wait;
  WaitForMeasurements();
}

// A round that begins before the first poll ended would report missing signals: without the result of its
// guards a signal has no values.
void Process::WaitForMeasurements() {
  if (!engine_->handle().signals.AllPolled() && clock_.Now() < measured_by_) {
    loop_.PostAfter(kPollInterval, [this] { WaitForMeasurements(); });
    return;
  }
  options_.once ? RunRound() : Tick();
}

void Process::Tick() {
  if (fence_.Open() && !in_round_) RunRound();
  loop_.PostAfter(options_.interval, [this] { Tick(); });
}

std::vector<api::PodPtr> Process::PendingPods() const {
  std::vector<api::PodPtr> pods = follower_->Pods();
  std::erase_if(pods, [](const api::PodPtr& pod) { return !pod->spec.node_name.empty(); });
  return pods;
}

void Process::RunRound() {
  in_round_ = true;
  if (!store_) return OnHistory(history_.Moves());
  store_->Read([this, post = loop_.poster()](Expected<Moves> moves) {
    post([this, moves = std::move(moves)]() mutable { OnHistory(std::move(moves)); });
  });
}

void Process::OnHistory(Expected<Moves> moves) {
  if (moves) {
    history_.ReplaceMoves(*moves);
  } else if (!options_.dry_run) {
    return StopRound(fmt::format("the moves in the ConfigMap {} are unavailable: {}", options_.history,
                                 moves.error().message));
  } else {
    log::Warning("The history of moves is unavailable; the dry run proceeds without it",
                 {{"configMap", options_.history}, {"error", moves.error().message}});
  }
  const MonoTime begin = clock_.Now();
  history_.Forget(clock_.WallNow(), options_.plan);
  const MeasuredLoad load = reader_->Read();
  const std::vector<api::PodPtr> pending = PendingPods();
  auto plan = MakePlan({config_, plugins_, *engine_, pending, load, history_, options_.plan, clock_});
  if (!plan) {
    log::Error("Planning failed", {{"error", plan.error().message}});
    if (options_.once) code_ = 1;
    return EndRound();
  }
  round_metrics_.Record(*plan, clock_.Now() - begin);
  MakeMoves(std::move(*plan));
}

// The moves are stored before the first eviction: a process that ends meanwhile must not lose them.
void Process::MakeMoves(Plan plan) {
  const auto execute = [this](Plan planned) {
    std::vector<Move> moves = planned.moves;
    executor_->Execute(std::move(moves),
                       [this, planned = std::move(planned)](auto outcomes) { Finish(planned, outcomes); });
  };
  if (!store_ || options_.dry_run || plan.moves.empty()) return execute(std::move(plan));
  Moves moves = history_.Moves();
  for (const Move& move : plan.moves) moves.push_back({clock_.WallNow(), move.Subject(), move.from, move.to});
  store_->Write(moves,
                [this, execute, plan = std::move(plan), post = loop_.poster()](Expected<> stored) mutable {
                  post([this, execute, plan = std::move(plan), stored = std::move(stored)]() mutable {
                    if (stored) return execute(std::move(plan));
                    StopRound(fmt::format("the moves could not be stored in the ConfigMap {}: {}",
                                          options_.history, stored.error().message));
                  });
                });
}

void Process::StopRound(std::string why) {
  Plan plan;
  plan.stopped = std::move(why);
  plan.nodes = engine_->cache().nodes().node_count();
  round_metrics_.Record(plan, Duration::zero());
  Finish(plan, {});
}

void Process::EndRound() {
  in_round_ = false;
  round_ended_ = true;
  if (options_.once) loop_.Stop();
}

void Process::Finish(const Plan& plan, const std::vector<EvictionOutcome>& outcomes) {
  if (options_.once) {
    const std::string text = options_.output == "json" ? PlanJson(plan, outcomes) : PlanText(plan, outcomes);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    if (!plan.stopped.empty()) code_ = 2;
    for (const EvictionOutcome& outcome : outcomes) {
      if (outcome.result == EvictionResult::kFailed || outcome.result == EvictionResult::kUnknown) code_ = 1;
    }
  } else if (std::string summary = Summary(plan, outcomes);
             summary != std::exchange(last_summary_, summary)) {
    // Most rounds find nothing new.
    log::Info("Round", {{"summary", last_summary_}});
  }
  const auto moved = std::ranges::count_if(outcomes, [](const EvictionOutcome& outcome) {
    return outcome.result == EvictionResult::kEvicted || outcome.result == EvictionResult::kUnknown;
  });
  if (!store_ || options_.dry_run || moved == std::ssize(plan.moves)) return EndRound();
  // Some moves were stored and not made.
  store_->Write(history_.Moves(), [this, post = loop_.poster()](Expected<> stored) {
    post([this, stored = std::move(stored)] {
      if (!stored) {
        log::Warning("Moves that were not made remain stored and count for the limits",
                     {{"configMap", options_.history}, {"error", stored.error().message}});
      }
      EndRound();
    });
  });
}

Expected<int> Process::Run() {
  if (!options_.once) {
    log::Info(
        options_.dry_run ? "Starting to rebalance: dry run, nothing is evicted" : "Starting to rebalance",
        {{"interval", ShortDuration(options_.interval)}});
  }
  source_->Start();
  loop_.Run(*follower_);
  source_.reset();
  ReleaseLease();
  elector_.reset();
  if (events_) {
    const auto sent = std::make_shared<std::promise<void>>();
    events_->WhenIdle([sent] { sent->set_value(); });
    sent->get_future().wait_for(kLastEvents);
    events_.reset();
  }
  // Only a signal ends the loop before that. Scripts must not take the missing report for an empty one.
  if (options_.once && !round_ended_) {
    fmt::print(stderr, "interrupted {} the round\n", in_round_ ? "during" : "before");
    return 1;
  }
  return lost_.load(std::memory_order_relaxed) && !stopping_.load(std::memory_order_relaxed) ? 1 : code_;
}

// Checks the combination of options.
Expected<Checked> Check(const RebalanceOptions& options) {
  Checked checked;
  for (const auto& [signal, text] : options.thresholds) {
    double& value = checked.thresholds[signal];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= 100))
      return Invalid(fmt::format("--threshold {}={}: expected a percentage, such as 80", signal, text));
  }
  if (options.plan.window < std::chrono::minutes(1)) return Invalid("--window: expected at least 1m");
  if (options.interval < std::chrono::seconds(10)) return Invalid("--interval: expected at least 10s");
  if (!options.once && options.leader_elect)
    BERTH_RETURN_IF_ERROR(client::CheckLeaderElection(options.lease));
  if (const std::string& history = options.history; !history.empty()) {
    const auto slash = history.find('/');
    if (slash == 0 || slash == history.npos || slash + 1 == history.size() || slash != history.rfind('/'))
      return Invalid(fmt::format("--history {}: expected NAMESPACE/NAME", history));
    checked.history = {history.substr(0, slash), history.substr(slash + 1)};
  }
  return checked;
}

}  // namespace

Expected<int> RunRebalance(RebalanceOptions options, const runtime::Registry& built_in) {
  BERTH_TRY(Checked checked, Check(options));
  log::SetVerbosity(options.verbosity);
  std::vector<std::string> notes;
  BERTH_TRY(const runtime::Registry plugins, process::WithLoadedPlugins(built_in, options.plugins, notes));
  BERTH_TRY(const config::SchedulerConfig config, process::LoadConfig(options.config, plugins));
  if (!config.extenders.empty()) {
    return Invalid(
        "the configuration has extenders, whose part in a decision cannot be evaluated on a copy of the "
        "cluster");
  }
  return Process(options, std::move(checked), config, plugins).Execute(std::move(notes));
}

}  // namespace berth::rebalance
