#include "tools/shadow/shadow_process.hpp"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <optional>

#include "http/io_thread.hpp"
#include "kubernetes/client/connection.hpp"
#include "kubernetes/client/environment.hpp"
#include "kubernetes/client/exec_plugin.hpp"
#include "kubernetes/client/informers.hpp"
#include "kubernetes/ports/dry_run_ports.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"
#include "process/api_connections.hpp"
#include "process/measuring.hpp"
#include "process/metrics_options.hpp"
#include "process/serving.hpp"
#include "process/signals.hpp"
#include "process/write_file.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "service/endpoints.hpp"
#include "service/process_metrics.hpp"
#include "tools/shadow/shadow_sink.hpp"

namespace berth::shadow {
namespace {

constexpr std::string_view kPage = "/debug/berth/shadow";

// A shadow takes no part in leader election.
config::SchedulerConfig WithoutElection(config::SchedulerConfig config) {
  config.leader_election.leader_elect = false;
  return config;
}

// The parts in the order of their dependencies. The loop belongs to a scheduler that never leads: it follows
// the cluster, and the shadow observes its changes.
class Process {
 public:
  Process(const process::SchedulerFlags& flags, const process::PFlags& table,
          const config::SchedulerConfig& config, const runtime::Registry& plugins,
          metrics::RegistryOptions metrics_options)
      : flags_(flags),
        table_(table),
        config_(WithoutElection(config)),
        plugins_(plugins),
        metrics_(std::move(metrics_options)) {}

  Expected<void> Assemble(std::vector<std::string>& notes);
  Expected<int> Run();

 private:
  Expected<void> Connect();
  Expected<void> MakeShadow(std::vector<std::string>& notes);
  void AddReport(service::Endpoints& endpoints);
  Expected<int> WriteReport();

  const process::SchedulerFlags& flags_;
  const process::PFlags& table_;
  const config::SchedulerConfig config_;
  const runtime::Registry& plugins_;
  process::Signals signals_;  // before any thread
  const client::SystemEnvironment environment_;
  const SystemClock clock_;
  metrics::Registry metrics_;
  // receives the scheduler's queue and plugin metrics, which are not exported
  metrics::Registry discarded_metrics_;
  http::IoThread io_{clock_};
  client::ConnectionConfig server_;
  std::unique_ptr<client::Connection> connection_;
  ports::RejectingApiWriter no_writes_{"a shadow does not write to the cluster"};
  ports::DiscardingEventSink no_events_;
  const std::string empty_hostname_;  // the host name in events, which this process never records
  std::unique_ptr<assembly::Engine> engine_;
  std::optional<cycle::Scheduler> follower_;
  std::unique_ptr<process::Measuring> measuring_;  // null: no plugin uses measurements
  std::optional<shadow::Report> report_;
  std::optional<shadow::Shadow> shadow_;
  std::optional<shadow::ShadowSink> sink_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<process::Serving> serving_;
  std::unique_ptr<client::ClusterSource> source_;
};

Expected<void> Process::Connect() {
  BERTH_TRY(server_, process::ConnectionOf(flags_, config_.client_connection, environment_));
  client::AddExecPluginMetrics(metrics_);
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
            assembly::Engine::Build(config_, plugins_, no_writes_, notes,
                                    {.registry = &discarded_metrics_, .clock = &clock_, .options = {}}));
  cycle::SchedulerOptions options;
  options.stand_by = true;
  options.record_bytes = 0;
  options.blocking_threads = 1;
  options.algorithm.equivalence_cache_bytes = 0;
  follower_.emplace(options, cycle::SchedulerParts{engine_->handle(), engine_->cache(), engine_->profiles(),
                                                   no_events_, clock_, discarded_metrics_});
  BERTH_TRY(measuring_,
            process::Measuring::Start({flags_.own.metric_sources, engine_->handle(), *follower_, environment_,
                                       clock_, metrics_, no_events_, empty_hostname_}));
  const process::ShadowFlags& flags = flags_.own.shadow;
  report_.emplace(static_cast<std::size_t>(flags.keep), clock_, metrics_);
  shadow::ShadowOptions wanted;
  wanted.percentage_of_nodes_to_score = config_.percentage_of_nodes_to_score;
  wanted.window = flags.window;
  shadow_.emplace(wanted, *engine_, clock_, *report_);
  sink_.emplace(*follower_, *shadow_);
  return {};
}

Expected<void> Process::Assemble(std::vector<std::string>& notes) {
  BERTH_RETURN_IF_ERROR(Connect());
  BERTH_RETURN_IF_ERROR(MakeShadow(notes));
  service::AddProcessMetrics(metrics_);
  process::AddFeatureMetrics(metrics_, config_.gates);
  BERTH_TRY(serving_,
            process::Serving::Start({flags_, table_, config_, plugins_, environment_, clock_, metrics_,
                                     *follower_, nullptr, stopping_,
                                     [this](service::Endpoints& endpoints) { AddReport(endpoints); }}));
  source_ = std::make_unique<client::ClusterSource>(
      io_, connection_->api(), metrics_, *sink_,
      client::ClusterSourceOptions{.watch_idle_timeout = std::chrono::seconds(flags_.own.watch_idle_seconds),
                                   .encoding = process::EncodingBy(config_.client_connection),
                                   .retained = {.annotations = engine_->retained_fields().annotations},
                                   .on_complete =
                                       [this] {
                                         if (measuring_) measuring_->OnNodesSynced();
                                       },
                                   .on_synced = {}});
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
    response.body = http::Share(json ? report_->Json() : report_->Text());
    respond(std::move(response));
  });
}

Expected<int> Process::Run() {
  log::Info("Starting as a shadow: comparing another scheduler's decisions with Berth's, without writes",
            {{"server", server_.origin.host}, {"port", server_.origin.port}, {"report", kPage}});
  signals_.OnFirst([this] {
    stopping_.store(true, std::memory_order_relaxed);
    follower_->Stop();
  });
  source_->Start();
  follower_->Run();
  source_.reset();
  while (follower_->RunOnce()) {  // pending input
  }
  shadow_->Finish();
  return WriteReport();
}

Expected<int> Process::WriteReport() {
  for (const std::string& line : report_->Summary()) log::Info("Shadow report", {{"line", line}});
  const std::string& file = flags_.own.shadow.report;
  if (file.empty()) return 0;
  BERTH_RETURN_IF_ERROR(process::WriteFileAtomically(file, report_->Json(), 0644));
  log::Info("Wrote the shadow report", {{"file", file}});
  return 0;
}

}  // namespace

Expected<int> RunShadow(const process::SchedulerFlags& flags, const process::PFlags& table,
                        const config::SchedulerConfig& config, const runtime::Registry& plugins,
                        std::vector<std::string> notes) {
  BERTH_TRY(metrics::RegistryOptions metrics_options, process::MetricsOptionsOf(flags.metrics));
  Process process(flags, table, config, plugins, std::move(metrics_options));
  BERTH_RETURN_IF_ERROR(process.Assemble(notes));
  for (const std::string& note : notes) log::Warning(note);
  return process.Run();
}

}  // namespace berth::shadow
