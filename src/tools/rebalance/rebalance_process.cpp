#include "tools/rebalance/rebalance_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

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

// The parts in the order of their dependencies. The loop follows the cluster; rounds are timers on it.
class Process final : public process::LongRunningProcess, private cycle::ChangeObserver {
 public:
  Process(const RebalanceOptions& options, std::map<std::string, double> thresholds,
          const config::SchedulerConfig& config, const runtime::Registry& plugins)
      : options_(options), thresholds_(std::move(thresholds)), config_(config), plugins_(plugins) {}

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
  void RunRound();
  void Finish(const Plan& plan, const std::vector<EvictionOutcome>& outcomes);
  std::vector<api::PodPtr> PendingPods() const;

  bool elects_leader() const { return options_.leader_elect && !options_.once; }

  const RebalanceOptions& options_;
  const std::map<std::string, double> thresholds_;
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
  std::string last_summary_;
  std::atomic<bool> lost_{false};
  int code_ = 0;
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
                                        {.window = options_.plan.window, .thresholds = thresholds_}));
  follower_.emplace(engine_->symbols(), engine_->cache(), engine_->profiles());
  follower_->Observe(*this);
  BERTH_TRY(measuring_, process::Measuring::Start({options_.metric_sources, engine_->handle(), environment_,
                                                   clock_, metrics_, no_events_, hostname_}));
  if (options_.dry_run) {
    evictor_ = std::make_unique<DryRunEvictor>();
  } else {
    evictor_ = std::make_unique<ApiEvictor>(io_, connection_->api(), fence_);
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
  io_.After(kGrace, [] { _exit(1); });
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

// A round that begins before the first poll ended would report missing signals.
void Process::WaitForMeasurements() {
  if (!reader_->Polled() && clock_.Now() < measured_by_)
    return loop_.PostAfter(kPollInterval, [this] { WaitForMeasurements(); });
  options_.once ? RunRound() : Tick();
}

void Process::Tick() {
  if (fence_.Open() && !executor_->busy()) RunRound();
  loop_.PostAfter(options_.interval, [this] { Tick(); });
}

std::vector<api::PodPtr> Process::PendingPods() const {
  std::vector<api::PodPtr> pods = follower_->Pods();
  std::erase_if(pods, [](const api::PodPtr& pod) { return !pod->spec.node_name.empty(); });
  return pods;
}

void Process::RunRound() {
  const MonoTime begin = clock_.Now();
  history_.Forget(clock_.WallNow(), options_.plan);
  const MeasuredLoad load = reader_->Read();
  const std::vector<api::PodPtr> pending = PendingPods();
  auto plan = MakePlan({config_, plugins_, *engine_, pending, load, history_, options_.plan, clock_});
  if (!plan) {
    log::Error("Planning failed", {{"error", plan.error().message}});
    if (options_.once) {
      code_ = 1;
      loop_.Stop();
    }
    return;
  }
  round_metrics_.Record(*plan, clock_.Now() - begin);
  std::vector<Move> moves = plan->moves;
  executor_->Execute(std::move(moves),
                     [this, plan = std::move(*plan)](auto outcomes) { Finish(plan, outcomes); });
}

void Process::Finish(const Plan& plan, const std::vector<EvictionOutcome>& outcomes) {
  if (!options_.once) {
    // Most rounds find nothing new.
    if (std::string summary = Summary(plan, outcomes); summary != std::exchange(last_summary_, summary))
      log::Info("Round", {{"summary", last_summary_}});
    return;
  }
  const std::string text = options_.output == "json" ? PlanJson(plan, outcomes) : PlanText(plan, outcomes);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  if (!plan.stopped.empty()) code_ = 2;
  for (const EvictionOutcome& outcome : outcomes) {
    if (outcome.result == EvictionResult::kFailed || outcome.result == EvictionResult::kUnknown) code_ = 1;
  }
  loop_.Stop();
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
  return lost_.load(std::memory_order_relaxed) && !stopping_.load(std::memory_order_relaxed) ? 1 : code_;
}

// Checks the combination of options.
Expected<std::map<std::string, double>> Check(const RebalanceOptions& options) {
  std::map<std::string, double> thresholds;
  for (const auto& [signal, text] : options.thresholds) {
    double& value = thresholds[signal];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= 100))
      return Invalid(fmt::format("--threshold {}={}: expected a percentage, such as 80", signal, text));
  }
  if (options.plan.window < std::chrono::minutes(1)) return Invalid("--window: expected at least 1m");
  if (options.interval < std::chrono::seconds(10)) return Invalid("--interval: expected at least 10s");
  if (!options.once && options.leader_elect)
    BERTH_RETURN_IF_ERROR(client::CheckLeaderElection(options.lease));
  return thresholds;
}

}  // namespace

Expected<int> RunRebalance(RebalanceOptions options, const runtime::Registry& built_in) {
  BERTH_TRY(auto thresholds, Check(options));
  log::SetVerbosity(options.verbosity);
  std::vector<std::string> notes;
  BERTH_TRY(const runtime::Registry plugins, process::WithLoadedPlugins(built_in, options.plugins, notes));
  BERTH_TRY(const config::SchedulerConfig config, process::LoadConfig(options.config, plugins));
  if (!config.extenders.empty()) {
    return Invalid(
        "the configuration has extenders, whose part in a decision cannot be evaluated on a copy of the "
        "cluster");
  }
  return Process(options, std::move(thresholds), config, plugins).Execute(std::move(notes));
}

}  // namespace berth::rebalance
