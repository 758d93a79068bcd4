#include "command/scheduler_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <map>
#include <memory>
#include <random>

#include "assembly/engine.hpp"
#include "assembly/in_tree_plugins.hpp"
#include "client/api_writer.hpp"
#include "client/connection.hpp"
#include "client/connection_config.hpp"
#include "client/environment.hpp"
#include "client/event_sink.hpp"
#include "client/informers.hpp"
#include "command/leadership.hpp"
#include "command/metrics_options.hpp"
#include "command/signals.hpp"
#include "command/tracing.hpp"
#include "config/write_config.hpp"
#include "core/scheduler.hpp"
#include "http/io_thread.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "server/endpoints.hpp"
#include "server/pod_resources.hpp"
#include "server/process_metrics.hpp"
#include "server/profiling/pprof.hpp"
#include "server/secure_server.hpp"
#include "server/server.hpp"
#include "server/zpages.hpp"

namespace berth::command {
namespace {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
Expected<HostPort> HttpAddress(const SchedulerFlags& flags, const PFlags& table);

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

core::SchedulerOptions SchedulerOptionsOf(const SchedulerFlags& flags,
                                          const config::SchedulerConfig& config) {
  core::SchedulerOptions options;
  options.queue.initial_backoff = config.pod_initial_backoff;
  options.queue.max_backoff = config.pod_max_backoff;
  options.queue.max_in_unschedulable = flags.max_in_unschedulable;
  options.decider.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score;
  options.decider.adaptive = flags.own.adaptive_sampling;
  options.decider.seed =
      flags.own.seed != 0 ? static_cast<std::uint64_t>(flags.own.seed) : std::random_device{}();
  options.stand_by = config.leader_election.leader_elect;
  options.record_bytes = static_cast<std::size_t>(flags.own.record_mib) << 20;
  return options;
}

Expected<client::ConnectionConfig> ConnectionOf(const SchedulerFlags& flags,
                                                const config::ClientConnection& wanted,
                                                const client::Environment& environment) {
  BERTH_TRY(client::ConnectionConfig connection,
            client::LoadConnection({wanted.kubeconfig, flags.master}, environment));
  connection.qps = wanted.limits_given ? std::max(wanted.qps, 0.0) : 0;
  connection.burst = static_cast<int>(wanted.burst);
  return connection;
}

// The doors to the API server, and what goes through them.
struct Client {
  std::unique_ptr<client::Connection> main;
  std::unique_ptr<client::Connection> for_events;
  std::unique_ptr<client::Connection> for_lease;  // null: without election
  std::unique_ptr<client::ApiWriter> writer;
  std::unique_ptr<client::EventSink> events;

  static Expected<Client> Open(http::IoThread& io, const client::ConnectionConfig& connection,
                               const client::Environment& environment, metrics::Registry& metrics,
                               const Clock& clock, const LeaseFence* fence) {
    Client client;
    BERTH_TRY(client.main,
              client::Connection::Open(io, connection, environment, metrics, clock, "scheduler"));
    BERTH_TRY(client.for_events, client::Connection::Open(io, connection, environment, metrics, clock, ""));
    if (fence != nullptr) {
      BERTH_TRY(client.for_lease,
                client::Connection::Open(io, connection, environment, metrics, clock, "leader-election"));
    }
    client.writer = std::make_unique<client::ApiWriter>(io, client.main->api(), clock,
                                                        client::ApiWriterOptions{.fence = fence});
    client.events = std::make_unique<client::EventSink>(
        io, client.for_events->api(), clock, metrics,
        // Ten times client-go's queue: bindings come in bursts of thousands here, and a burst should leave no
        // pod without its event.
        client::EventSinkOptions{
            .hostname = HostName(),
            .queue_capacity = 10'000,
            .under_pressure = [writer = client.writer.get()] { return writer->Backlog() > 0; }});
    return client;
  }
};

void AddHealth(server::Endpoints& endpoints, const config::SchedulerConfig& config,
               const core::Scheduler& scheduler, const std::atomic<bool>& stopping) {
  std::vector<server::Check> health, ready;
  if (config.leader_election.leader_elect) {
    // kube-scheduler never tells its watchdog of the elector, so the check always passes.
    const server::Check watchdog{"leaderElection", [] { return std::optional<std::string>(); }};
    health.push_back(watchdog);
    ready.push_back(watchdog);
  }
  ready.push_back({"shutdown", [&stopping]() -> std::optional<std::string> {
                     if (stopping.load(std::memory_order_relaxed)) return "process is shutting down";
                     return std::nullopt;
                   }});
  ready.push_back({"sched-handler-sync", [&scheduler]() -> std::optional<std::string> {
                     if (scheduler.synced()) return std::nullopt;
                     return "handlers are not fully synchronized";
                   }});
  endpoints.AddHealth("healthz", std::move(health));
  endpoints.AddHealth("livez", {});
  endpoints.AddHealth("readyz", std::move(ready));
}

// On a thread of their own: strangers' handshakes must not keep bindings waiting.
struct Serving {
  std::unique_ptr<http::IoThread> io;
  std::unique_ptr<server::PodResources> resources;
  std::unique_ptr<server::Pprof> profiles;  // null without enableProfiling
  std::unique_ptr<server::Server> open;
  std::unique_ptr<server::SecureServer> secure;
};

std::unique_ptr<server::PodResources> AddPages(const PFlags& table, const config::SchedulerConfig& config,
                                               core::Scheduler& scheduler, const LeaseFence* fence,
                                               server::Endpoints& endpoints) {
  endpoints.AddPage(
      "/configz", "application/json",
      [text = config::WriteConfigz(config, assembly::InTreePlugins().codecs())] { return text; });
  server::AddFlagz(endpoints, [&table] {
    const auto values = table.Values();
    return std::map<std::string, std::string>(values.begin(), values.end());
  });
  return std::make_unique<server::PodResources>(
      endpoints, [fence] { return fence == nullptr || fence->Open(); },
      [&scheduler](std::move_only_function<void(std::vector<api::PodPtr>)> take) {
        scheduler.Post([&scheduler, take = std::move(take)]() mutable { take(scheduler.Pods()); });
      });
}

Expected<Serving> Serve(const SchedulerFlags& flags, const PFlags& table,
                        const config::SchedulerConfig& config, const Clock& clock, core::Scheduler& scheduler,
                        const LeaseFence* fence, const client::Environment& environment,
                        metrics::Registry& metrics, server::Endpoints& endpoints) {
  Serving serving;
  serving.io = std::make_unique<http::IoThread>(clock);
  serving.resources = AddPages(table, config, scheduler, fence, endpoints);
  if (config.enable_profiling) {
    serving.profiles = std::make_unique<server::Pprof>(endpoints, *serving.io, clock);
    endpoints.AddVerbosity();
  }
  server::AddStatusz(endpoints, {.binary_version = "1.37.1", .emulation_version = "1.37"}, clock);
  BERTH_TRY(const HostPort address, HttpAddress(flags, table));
  if (address.port != 0) {
    BERTH_TRY(serving.open, server::Server::Listen(*serving.io, endpoints, address.host, address.port));
    log::Info("Serving health and metrics", {{"address", address.host}, {"port", address.port}});
  }
  BERTH_TRY(serving.secure,
            server::SecureServer::Start(flags.serving, flags.authentication, flags.authorization,
                                        {*serving.io, environment, clock, metrics, endpoints}));
  return serving;
}

// Of --berth-http-address, or of the --port and --address of old.
Expected<HostPort> HttpAddress(const SchedulerFlags& flags, const PFlags& table) {
  if (table.Given("port") && !table.Given("berth-http-address"))
    return HostPort{flags.old.address, static_cast<std::uint16_t>(flags.old.port)};
  const std::string& text = flags.own.http_address;
  const auto colon = text.rfind(':');
  HostPort address;
  const char* end = text.data() + text.size();
  if (colon != text.npos) {
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, address.port);
    if (error == std::errc{} && rest == end) {
      address.host = text.substr(0, colon);
      return address;
    }
  }
  return Invalid(
      fmt::format("invalid argument \"{}\" for \"--berth-http-address\" flag: expected ADDRESS:PORT", text));
}

}  // namespace

Expected<int> RunScheduler(const SchedulerFlags& flags, const PFlags& table,
                           const config::SchedulerConfig& config, std::vector<std::string> notes) {
  const client::SystemEnvironment environment;
  BERTH_TRY(metrics::RegistryOptions metrics_options, MetricsOptionsOf(flags.metrics));
  BERTH_TRY(const client::ConnectionConfig connection,
            ConnectionOf(flags, config.client_connection, environment));

  Signals signals;
  const SystemClock clock;
  metrics::Registry metrics(std::move(metrics_options));
  http::IoThread io(clock);
  // Where several replicas run, one leads.
  LeaseFence closed(clock);
  LeaseFence* const fence = config.leader_election.leader_elect ? &closed : nullptr;
  const client::LeaderElectionOptions election = ElectionOf(config, HostName());
  if (fence != nullptr) BERTH_CHECKED(client::CheckLeaderElection(election));
  BERTH_TRY(Client client, Client::Open(io, connection, environment, metrics, clock, fence));
  BERTH_TRY(const auto engine,
            assembly::Engine::Build(config, assembly::InTreePlugins(), *client.writer, notes,
                                    {.registry = &metrics, .clock = &clock, .options = {}}));
  for (const std::string& note : notes) log::Warning(note);
  log::Info(
      "Pods that use resource claims or devices of a DeviceClass wait: Berth does not allocate devices yet");
  BERTH_TRY(const Tracing tracing, Tracing::Open(flags, election.identity, io, clock, metrics));
  core::SchedulerOptions options = SchedulerOptionsOf(flags, config);
  options.stand_by = fence != nullptr;
  core::Scheduler scheduler(options, {engine->handle(), engine->cache(), engine->profiles(), *client.events,
                                      clock, metrics, tracing.exporter.get(), fence});
  std::unique_ptr<Leadership> leadership;
  if (fence != nullptr) {
    leadership =
        std::make_unique<Leadership>(election, config.delay_cache_until_active,
                                     LeadershipParts{io, client.for_lease->api(), client.for_events->api(),
                                                     clock, metrics, *fence, scheduler, *client.writer});
  }
  server::AddProcessMetrics(metrics);
  AddFeatureMetrics(metrics, config.gates);
  std::atomic<bool> stopping = false;
  server::Endpoints endpoints(metrics);
  AddHealth(endpoints, config, scheduler, stopping);
  BERTH_TRY(const Serving serving,
            Serve(flags, table, config, clock, scheduler, fence, environment, metrics, endpoints));
  auto source = std::make_unique<client::ClusterSource>(
      io, client.main->api(), metrics, scheduler.sink(),
      client::ClusterSourceOptions{.watch_idle_timeout = std::chrono::seconds(flags.own.watch_idle_seconds),
                                   .on_synced = [&leadership] {
                                     if (leadership) leadership->OnSynced();
                                   }});
  signals.OnFirst([&] {
    stopping.store(true, std::memory_order_relaxed);
    leadership ? leadership->Leave() : scheduler.Stop();
  });
  log::Info("Starting Kubernetes Scheduler", {{"version", ReportedVersion(flags)},
                                              {"server", connection.origin.host},
                                              {"port", connection.origin.port}});
  int code = 0;
  if (leadership) {
    code = leadership->Run(*source);
  } else {
    source->Start();
    scheduler.Run();
  }

  // Who delivers to the scheduler goes first, then who answers it.
  source.reset();
  leadership.reset();
  client.events.reset();
  client.writer.reset();
  return code;
}

}  // namespace berth::command
