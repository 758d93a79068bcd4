#include "tools/shadow/shadow_process.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/files.hpp"
#include "base/lease_fence.hpp"
#include "config/write_config.hpp"
#include "kubernetes/client/connection.hpp"
#include "kubernetes/ports/dry_run_ports.hpp"
#include "observability/log/log.hpp"
#include "process/api_connections.hpp"
#include "process/long_running_process.hpp"
#include "process/measuring.hpp"
#include "process/metrics_options.hpp"
#include "process/serving.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/cluster_follower.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "service/endpoints.hpp"
#include "tools/shadow/shadow_observer.hpp"

namespace berth::shadow {
namespace {

constexpr std::string_view kPage = "/debug/berth/shadow";

// A shadow takes no part in leader election.
config::SchedulerConfig WithoutElection(config::SchedulerConfig config) {
  config.leader_election.leader_elect = false;
  return config;
}

// The parts in the order of their dependencies. The loop only follows the cluster, and the shadow observes
// its changes.
class Process final : public process::LongRunningProcess {
 public:
  Process(const process::SchedulerFlags& flags, const command_line::FlagSet& table,
          const config::SchedulerConfig& config, const runtime::Registry& plugins,
          metrics::RegistryOptions metrics_options)
      : LongRunningProcess(std::move(metrics_options)),
        flags_(flags),
        table_(table),
        config_(WithoutElection(config)),
        plugins_(plugins) {}

 private:
  Expected<void> Assemble(std::vector<std::string>& notes) override;
  Expected<int> Run() override;
  void Stop() override { loop_.Stop(); }
  Expected<void> Connect();
  Expected<void> MakeShadow(std::vector<std::string>& notes);
  void ListPods(std::move_only_function<void(std::vector<api::PodPtr>)> take) {
    loop_.Post([this, take = std::move(take)]() mutable { take(follower_->Pods()); });
  }
  void AddReport(service::Endpoints& endpoints);
  Expected<int> WriteReport();

  const process::SchedulerFlags& flags_;
  const command_line::FlagSet& table_;
  const config::SchedulerConfig config_;
  const runtime::Registry& plugins_;
  // receives the plugins' metrics, which are not exported
  metrics::Registry discarded_metrics_;
  client::ConnectionConfig server_;
  std::unique_ptr<client::Connection> connection_;
  cycle::ClusterLoop loop_{clock_};
  assembly::DryRunPorts no_effects_;  // a shadow does not write to the cluster
  ports::DiscardingEventSink no_events_;
  const std::string empty_hostname_;  // the host name in events, which this process never records
  std::unique_ptr<assembly::Engine> engine_;
  std::optional<cycle::ClusterFollower> follower_;
  std::unique_ptr<process::Measuring> measuring_;  // null: no plugin uses measurements
  std::optional<shadow::Report> report_;
  std::optional<shadow::Shadow> shadow_;
  std::optional<shadow::ShadowObserver> observer_;
  const LeaseFence fence_ = LeaseFence::AlwaysOpen(clock_);
  std::unique_ptr<process::Serving> serving_;
  std::unique_ptr<client::ClusterSource> source_;
};

Expected<void> Process::Connect() {
  BERTH_TRY(server_, process::ConnectionOf(flags_, config_.client_connection, environment_));
  BERTH_TRY(connection_, client::Connection::Open(io_, server_, environment_, metrics_, clock_, "shadow"));
  return {};
}

Expected<void> Process::MakeShadow(std::vector<std::string>& notes) {
  if (!config_.extenders.empty()) {
    return Invalid(
        "--berth-shadow: the configuration has extenders, which would get every request a second time; "
        "remove them from the shadow's configuration");
  }
  BERTH_TRY(engine_,
            assembly::Engine::Build(config_, plugins_, no_effects_.ports(loop_), notes,
                                    {.registry = &discarded_metrics_, .clock = &clock_, .options = {}}));
  follower_.emplace(engine_->symbols(), engine_->cache(), engine_->pending(), engine_->profiles());
  BERTH_TRY(measuring_, process::Measuring::Start({flags_.own.metric_sources, engine_->handle(), environment_,
                                                   clock_, metrics_, no_events_, empty_hostname_}));
  const process::ShadowFlags& flags = flags_.own.shadow;
  report_.emplace(static_cast<std::size_t>(flags.keep), clock_, metrics_);
  shadow::ShadowOptions wanted;
  wanted.percentage_of_nodes_to_score = config_.percentage_of_nodes_to_score;
  wanted.window = flags.window;
  shadow_.emplace(wanted, *engine_, clock_, *report_);
  observer_.emplace(loop_, *shadow_);
  follower_->Observe(*observer_);
  return {};
}

Expected<void> Process::Assemble(std::vector<std::string>& notes) {
  BERTH_RETURN_IF_ERROR(Connect());
  BERTH_RETURN_IF_ERROR(MakeShadow(notes));
  process::AddFeatureMetrics(metrics_, config_.gates);
  BERTH_TRY(serving_, process::Serving::Start(
                          {flags_, table_, config_,
                           [text = config::WriteConfigz(config_, plugins_.codecs())] { return text; },
                           environment_, clock_, metrics_, [this] { return loop_.synced(); },
                           [this](auto take) { ListPods(std::move(take)); }, fence_, stopping_,
                           [this](service::Endpoints& endpoints) { AddReport(endpoints); }}));
  client::ClusterSourceOptions options;
  options.allow_missing_resources = flags_.own.allow_missing_resources;
  options.watch_idle_timeout = flags_.own.watch_idle_timeout;
  options.retained = {.annotations = engine_->retained_fields().annotations};
  source_ =
      SourceOf(connection_->api(), loop_.sink(), config_.client_connection, measuring_, std::move(options));
  return {};
}

void Process::AddReport(service::Endpoints& endpoints) {
  endpoints.Add(std::string(kPage), [this](const http::Request& request, const service::Target& target,
                                           const service::Respond& respond) {
    const bool json =
        target.Get("output") == "json" || request.headers.Find("Accept").contains("application/json");
    http::Response response;
    response.status = 200;
    response.content_type = json ? "application/json" : "text/plain; charset=utf-8";
    response.body = ShareText(json ? report_->Json() : report_->Text());
    respond(std::move(response));
  });
}

Expected<int> Process::Run() {
  log::Info("Starting as a shadow: comparing another scheduler's decisions with Berth's, without writes",
            {{"server", server_.origin.host}, {"port", server_.origin.port}, {"report", kPage}});
  source_->Start();
  loop_.Run(*follower_);
  source_.reset();
  while (loop_.RunOnce(*follower_)) {  // pending input
  }
  shadow_->Finish();
  return WriteReport();
}

Expected<int> Process::WriteReport() {
  for (const std::string& line : report_->Summary()) log::Info("Shadow report", {{"line", line}});
  const std::string& file = flags_.own.shadow.report;
  if (file.empty()) return 0;
  BERTH_RETURN_IF_ERROR(WriteOutputFile(file, report_->Json()));
  log::Info("Wrote the shadow report", {{"file", file}});
  return 0;
}

}  // namespace

Expected<int> RunShadow(const process::SchedulerFlags& flags, const command_line::FlagSet& table,
                        const config::SchedulerConfig& config, const runtime::Registry& plugins,
                        std::vector<std::string> notes) {
  BERTH_TRY(metrics::RegistryOptions metrics_options, process::MetricsOptionsOf(flags.metrics));
  return Process(flags, table, config, plugins, std::move(metrics_options)).Execute(std::move(notes));
}

}  // namespace berth::shadow
