#include "command/scheduler_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
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
#include "command/signals.hpp"
#include "core/scheduler.hpp"
#include "http/io_thread.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "server/endpoints.hpp"
#include "server/process_metrics.hpp"
#include "server/server.hpp"

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
  std::unique_ptr<client::Connection> for_lease;  // null without election
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

void AddHealth(server::Endpoints& endpoints, const core::Scheduler& scheduler) {
  endpoints.AddHealth("healthz", {server::Ping()});
  endpoints.AddHealth("livez", {server::Ping()});
  endpoints.AddHealth("readyz", {{"sched-handler-sync", [&scheduler]() -> std::optional<std::string> {
                                    if (scheduler.synced()) return std::nullopt;
                                    return "handlers are not fully synchronized";
                                  }}});
  endpoints.AddVerbosity();
}

// Null if serving is off.
Expected<std::unique_ptr<server::Server>> Serve(const SchedulerFlags& flags, const PFlags& table,
                                                http::IoThread& io, server::Endpoints& endpoints) {
  BERTH_TRY(const HostPort address, HttpAddress(flags, table));
  if (address.port == 0) return nullptr;
  BERTH_TRY(auto server, server::Server::Listen(io, endpoints, address.host, address.port));
  log::Info("Serving health and metrics", {{"address", address.host}, {"port", address.port}});
  return server;
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
  const bool elect = config.leader_election.leader_elect;
  const client::LeaderElectionOptions election = ElectionOf(config, HostName());
  if (elect) BERTH_CHECKED(client::CheckLeaderElection(election));
  const client::SystemEnvironment environment;
  BERTH_TRY(const client::ConnectionConfig connection,
            ConnectionOf(flags, config.client_connection, environment));

  Signals signals;
  const SystemClock clock;
  metrics::Registry metrics;
  http::IoThread io(clock);
  LeaseFence fence(clock);
  const LeaseFence* guard = elect ? &fence : nullptr;
  BERTH_TRY(Client client, Client::Open(io, connection, environment, metrics, clock, guard));
  BERTH_TRY(const auto engine,
            assembly::Engine::Build(config, assembly::InTreePlugins(), *client.writer, notes,
                                    {.registry = &metrics, .clock = &clock, .options = {}}));
  for (const std::string& note : notes) log::Warning(note);
  log::Info(
      "Pods that use resource claims or devices of a DeviceClass wait: Berth does not allocate devices yet");
  core::Scheduler scheduler(
      SchedulerOptionsOf(flags, config),
      {engine->handle(), engine->cache(), engine->profiles(), *client.events, clock, metrics, guard});
  std::unique_ptr<Leadership> leadership;
  if (elect) {
    leadership =
        std::make_unique<Leadership>(election, config.delay_cache_until_active,
                                     LeadershipParts{io, client.for_lease->api(), client.for_events->api(),
                                                     clock, metrics, fence, scheduler, *client.writer});
  }
  server::AddProcessMetrics(metrics, clock);
  server::Endpoints endpoints(metrics);
  AddHealth(endpoints, scheduler);
  BERTH_TRY(const auto server, Serve(flags, table, io, endpoints));
  auto source = std::make_unique<client::ClusterSource>(
      io, client.main->api(), metrics, scheduler.sink(),
      client::ClusterSourceOptions{.watch_idle_timeout = std::chrono::seconds(flags.own.watch_idle_seconds),
                                   .on_synced = [&leadership] {
                                     if (leadership) leadership->OnSynced();
                                   }});
  signals.OnFirst([&] { leadership ? leadership->Leave() : scheduler.Stop(); });
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
