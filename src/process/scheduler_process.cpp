#include "process/scheduler_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "base/version.hpp"
#include "config/write_config.hpp"
#include "observability/log/log.hpp"
#include "process/api_connections.hpp"
#include "process/config_reload.hpp"
#include "process/extender_environment.hpp"
#include "process/leadership.hpp"
#include "process/long_running_process.hpp"
#include "process/measuring.hpp"
#include "process/metrics_options.hpp"
#include "process/scheduler_api.hpp"
#include "process/serving.hpp"
#include "process/tracing.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/recording/header.hpp"
#include "scheduler/recording/recorded_ports.hpp"
#include "scheduler/recording/recorder.hpp"
#include "scheduler/recording/segments.hpp"
#include "scheduler/recording/writing_thread.hpp"
#include "service/page/page.hpp"

namespace berth::process {
namespace {

// Maximum time to send the last events at an orderly end; the lease is free by then.
constexpr std::chrono::seconds kLastEvents{1};

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

cycle::SchedulerOptions SchedulerOptionsOf(const SchedulerFlags& flags,
                                           const config::SchedulerConfig& config) {
  cycle::SchedulerOptions options;
  options.queue.initial_backoff = config.pod_initial_backoff;
  options.queue.max_backoff = config.pod_max_backoff;
  options.queue.max_in_unschedulable = flags.max_in_unschedulable;
  options.algorithm.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score;
  options.algorithm.adaptive = flags.own.adaptive_sampling;
  options.algorithm.seed =
      flags.own.seed != 0 ? static_cast<std::uint64_t>(flags.own.seed) : std::random_device{}();
  options.algorithm.equivalence_cache_bytes = flags.own.equivalence_cache_bytes;
  options.stand_by = config.leader_election.leader_elect;
  options.record_bytes = flags.own.record_buffer_bytes;
  options.measurement_wait = flags.own.measurement_wait;
  options.class_latency = {.label = flags.own.class_label,
                           .most_classes = static_cast<std::size_t>(flags.own.max_classes)};
  return options;
}

Expected<std::unique_ptr<recording::Recorder>> OpenRecording(const SchedulerFlags& flags,
                                                             const Clock& clock) {
  if (flags.own.recording_dir.empty()) return nullptr;
  if (auto set_aside = recording::SetAside(flags.own.recording_dir); !set_aside)
    return std::unexpected(std::move(set_aside).error().In("--berth-recording-dir"));
  auto recorder =
      recording::Recorder::Create(flags.own.recording_dir, {.total = flags.own.recording_limit_bytes}, clock);
  if (!recorder) return std::unexpected(std::move(recorder).error().In("--berth-recording-dir"));
  return recorder;
}

// In the form of the internal type in kube-scheduler's log.
std::string PluginsText(const runtime::Profile& profile) {
  std::string text;
  for (const auto& [point, plugins] : profile.ListPlugins()) {
    std::string enabled;
    for (const auto& [name, weight] : plugins)
      enabled += fmt::format(R"({}{{"Name":"{}","Weight":{}}})", enabled.empty() ? "" : ",", name, weight);
    text += fmt::format(R"({}"{}":{{"Enabled":{},"Disabled":null}})", text.empty() ? "" : ",", point,
                        enabled.empty() ? "null" : "[" + enabled + "]");
  }
  return "{" + text + "}";
}

extenders::CircuitOptions CircuitOf(const SchedulerFlags& flags) {
  return {.failures = static_cast<int>(flags.own.extender_failures), .pause = flags.own.extender_pause};
}

assembly::ExtenderAccess AccessToExtenders(http::IoThread& io, const client::Environment& environment,
                                           const SchedulerFlags& flags) {
  return {.make_transport = extenders::HttpTransports(io, ExtenderEnvironment(environment),
                                                      flags.own.extender_max_reply_bytes),
          .circuit = CircuitOf(flags)};
}

// The parts of a running scheduler in the order of their dependencies, so that they are also destroyed in the
// right order after a failed start.
class Process final : public LongRunningProcess {
 public:
  Process(const SchedulerFlags& flags, const command_line::FlagSet& table,
          const config::SchedulerConfig& config, const runtime::Registry& plugins,
          metrics::RegistryOptions metrics_options, std::unique_ptr<recording::Recorder> recorder)
      : LongRunningProcess(std::move(metrics_options)),
        flags_(flags),
        table_(table),
        config_(config),
        plugins_(plugins),
        election_(ElectionOf(config, hostname_)),
        recorder_(std::move(recorder)) {}

 private:
  Expected<void> Assemble(std::vector<std::string>& notes) override;
  Expected<int> Run() override;
  std::function<void()> OnHangup() override { return reload_->Requester(); }
  void Stop() override { leadership_ ? leadership_->Leave() : loop_.Stop(); }
  Expected<void> Connect();
  Expected<void> MakeScheduler(std::vector<std::string>& notes);
  void ListPods(std::move_only_function<void(std::vector<api::PodPtr>)> take) {
    loop_.Post([this, take = std::move(take)]() mutable { take(scheduler_->Pods()); });
  }
  void AddSchedulerApi(service::Endpoints& endpoints);
  void StartRecording(const cycle::SchedulerOptions& options);
  assembly::ExtenderAccess ExtenderAccess();
  void LogConfiguration() const;
  int End(int code);
  void StopServing();

  bool elects_leader() const { return config_.leader_election.leader_elect; }

  const SchedulerFlags& flags_;
  const command_line::FlagSet& table_;
  const config::SchedulerConfig& config_;
  const runtime::Registry& plugins_;
  const std::string hostname_ = HostName();
  const client::LeaderElectionOptions election_;
  // With several replicas only the leader may write.
  LeaseFence fence_ = elects_leader() ? LeaseFence(clock_) : LeaseFence::AlwaysOpen(clock_);
  const std::unique_ptr<recording::Recorder> recorder_;     // null: nothing is recorded
  std::optional<recording::WritingThread> writing_thread_;  // empty: nothing is recorded
  recording::RecordedPorts recorded_{recorder_.get(), clock_, fence_};
  client::ConnectionConfig server_;
  ApiConnections api_;
  std::unique_ptr<client::Connection> lease_connection_;  // null: without leader election
  cycle::ClusterLoop loop_{recorded_.clock(), recorded_.journal()};
  cycle::ServicesProxy services_;
  std::unique_ptr<assembly::Engine> engine_;
  Tracing tracing_;
  std::optional<cycle::Scheduler> scheduler_;
  std::unique_ptr<Measuring> measuring_;    // null: no plugin uses measurements
  std::unique_ptr<Leadership> leadership_;  // null: without leader election
  std::optional<evaluation::PodExplainer> explainer_;
  std::optional<ConfigReload> reload_;
  std::optional<SchedulerApi> scheduler_api_;
  std::unique_ptr<Serving> serving_;
  std::unique_ptr<client::ClusterSource> source_;
};

Expected<void> Process::Assemble(std::vector<std::string>& notes) {
  // Plugins that are not built in may be slow, or expect to be called by one thread.
  if (!plugins_.HasForeign()) {
    loop_.ShareWith({[id = io_.id()] { return std::this_thread::get_id() == id; },
                     [this](auto work) { io_.Post(std::move(work)); }});
  }
  BERTH_RETURN_IF_ERROR(Connect());
  BERTH_RETURN_IF_ERROR(MakeScheduler(notes));
  if (elects_leader()) {
    BERTH_TRY(lease_connection_,
              client::Connection::Open(io_, server_, environment_, metrics_, clock_, "leader-election"));
    leadership_ = std::make_unique<Leadership>(
        election_, config_.delay_cache_until_active,
        LeadershipParts{io_, lease_connection_->api(), api_.for_events->api(), clock_, metrics_, fence_,
                        loop_, *scheduler_, *api_.writer,
                        [this](Duration limit) { forced_end_.Within(limit); }});
  }
  AddFeatureMetrics(metrics_, config_.gates);
  reload_.emplace(ConfigReload::Parts{flags_, table_, config_, plugins_, loop_, *scheduler_, *engine_, clock_,
                                      metrics_, ExtenderAccess(),
                                      [this](const config::SchedulerConfig& config) {
                                        if (explainer_) explainer_->Reconfigure(config);
                                      }});
  BERTH_TRY(serving_,
            Serving::Start({flags_, table_, config_, [this] { return reload_->Configz(); }, environment_,
                            clock_, metrics_, [this] { return loop_.synced(); },
                            [this](auto take) { ListPods(std::move(take)); }, fence_, stopping_,
                            [this](service::Endpoints& endpoints) { AddSchedulerApi(endpoints); }}));
  client::ClusterSourceOptions options;
  options.allow_missing_resources = flags_.own.allow_missing_resources;
  options.watch_idle_timeout = flags_.own.watch_idle_timeout;
  options.retained = engine_->retained_fields();
  options.on_version = [this](std::string_view kind, std::string_view version) {
    if (kind == api::ResourceClaim::kKind) api_.writer->SetClaimVersion(version);
  };
  options.wanted = [this](const client::Resource& resource) {
    return resource.IsWatched(config_.gates, engine_->handle().requested_resources);
  };
  options.on_synced = [this] {
    if (leadership_) leadership_->OnSynced();
  };
  source_ =
      SourceOf(api_.main->api(), loop_.sink(), config_.client_connection, measuring_, std::move(options));
  return {};
}

Expected<void> Process::Connect() {
  BERTH_TRY(server_, ConnectionOf(flags_, config_.client_connection, environment_));
  if (elects_leader()) BERTH_RETURN_IF_ERROR(client::CheckLeaderElection(election_));
  BERTH_TRY(api_, ApiConnections::Open(io_, server_, environment_, metrics_, clock_, fence_, hostname_,
                                       flags_.own.scheduled_event_ratio));
  return {};
}

Expected<void> Process::MakeScheduler(std::vector<std::string>& notes) {
  const cycle::SchedulerOptions options = SchedulerOptionsOf(flags_, config_);
  if (recorder_) recorder_->BeginStart();
  BERTH_TRY(engine_,
            assembly::Engine::Build(
                config_, plugins_, {recorded_.Watch(*api_.writer), *api_.events, loop_, services_}, notes,
                {.registry = &metrics_, .clock = &recorded_.clock(), .options = {}}, ExtenderAccess()));
  BERTH_TRY(tracing_, Tracing::Open(flags_, election_.identity, io_, clock_, metrics_));
  scheduler_.emplace(
      options, cycle::SchedulerParts{loop_, services_, engine_->handle(), engine_->cache(),
                                     engine_->profiles(), recorded_.clock(), metrics_,
                                     engine_->shared_extenders(), recorded_.fence(), *tracing_.tracer,
                                     [this](std::size_t profile) { return engine_->IsMeasured(profile); }});
  if (recorder_) StartRecording(options);
  BERTH_TRY(measuring_,
            Measuring::Start({flags_.own.metric_sources, engine_->handle(), environment_, recorded_.clock(),
                              metrics_, *api_.events, hostname_,
                              [this](const auto& result) { return recorded_.OriginOf(result); }}));
  return {};
}

// The scheduler has been constructed: its readings of the clock are the first step of the recording.
void Process::StartRecording(const cycle::SchedulerOptions& options) {
  recording::Header header = recording::HeaderOf(config_, plugins_.codecs(), options, clock_.WallNow());
  header.circuit = CircuitOf(flags_);
  recorder_->ExportTo(metrics_);
  recorder_->Start(*scheduler_, header);
  writing_thread_.emplace(*recorder_);
}

assembly::ExtenderAccess Process::ExtenderAccess() {
  assembly::ExtenderAccess access = AccessToExtenders(io_, environment_, flags_);
  access.make_transport = recorded_.Watch(std::move(access.make_transport));
  return access;
}

void Process::AddSchedulerApi(service::Endpoints& endpoints) {
  explainer_.emplace(
      evaluation::PodExplainer::Parts{loop_, *scheduler_, *engine_, config_, plugins_, clock_, metrics_});
  scheduler_api_.emplace(
      endpoints,
      SchedulerApi::Parts{
          introspection::Inspector({loop_, *scheduler_, std::as_const(*engine_).cache(),
                                    engine_->handle().signals, engine_->profiles(), engine_->reasons(),
                                    clock_, metrics_, flags_.max_in_unschedulable}),
          *explainer_, PodRetries(loop_, *scheduler_, clock_), flags_.own.api_retry, *reload_,
          flags_.own.api_reload, [this] { return fence_.Open(); }});
  if (flags_.own.ui) service::AddPage(endpoints);
}

Expected<int> Process::Run() {
  LogConfiguration();
  if (leadership_) return End(leadership_->Run(*source_));
  source_->Start();
  loop_.Run(*scheduler_);
  return End(0);
}

void Process::LogConfiguration() const {
  if (const auto log = log::V(2)) {
    for (const auto& profile : engine_->profiles())
      log.Info("the scheduler starts to work with those plugins",
               {{"profile", profile->name()}, {"Plugins", PluginsText(*profile)}});
    log.Info("Using component config", {{"config", config::WriteConfigForLog(config_, plugins_.codecs())}});
  }
  log::Info("Starting Kubernetes Scheduler", {{"version", ReportedVersion(flags_)},
                                              {"berth", BerthVersion()},
                                              {"server", server_.origin.host},
                                              {"port", server_.origin.port}});
}

// Stops the sources of the scheduler's input first, then the threads that use the clients, then these.
int Process::End(int code) {
  BeginEnd();
  if (explainer_) explainer_->End();  // the server would wait for the answers
  source_.reset();
  leadership_.reset();
  measuring_.reset();  // records events
  scheduler_->EndBlockingPlugins();
  const auto sent = std::make_shared<std::promise<void>>();
  api_.events->WhenIdle([sent] { sent->set_value(); });
  if (sent->get_future().wait_for(kLastEvents) != std::future_status::ready)
    log::Warning("Dropping events that could not be sent in time");
  api_.events.reset();
  api_.writer.reset();
  StopServing();
  return code;
}

// Requests wait in the loop, for explanations and for reloads. They end before the thread that serves them,
// and before the server waits for them.
void Process::StopServing() {
  reload_->Cancel();
  loop_.DropPending();
  serving_->Close();
  loop_.DropPending();
  scheduler_api_.reset();
  explainer_.reset();
  reload_.reset();
  loop_.DropPending();  // what their threads have posted meanwhile
  serving_.reset();
}

}  // namespace

Expected<int> RunScheduler(const SchedulerFlags& flags, const command_line::FlagSet& table,
                           const config::SchedulerConfig& config, const runtime::Registry& plugins,
                           std::vector<std::string> notes) {
  BERTH_TRY(metrics::RegistryOptions metrics_options, MetricsOptionsOf(flags.metrics));
  const SystemClock clock;  // the recorder's
  BERTH_TRY(auto recorder, OpenRecording(flags, clock));
  return Process(flags, table, config, plugins, std::move(metrics_options), std::move(recorder))
      .Execute(std::move(notes));
}

}  // namespace berth::process
