#include "command/scheduler_command.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <random>
#include <thread>

#include "assembly/engine.hpp"
#include "assembly/in_tree_plugins.hpp"
#include "client/api_writer.hpp"
#include "client/connection.hpp"
#include "client/connection_config.hpp"
#include "client/environment.hpp"
#include "client/event_sink.hpp"
#include "client/informers.hpp"
#include "command/leadership.hpp"
#include "command/load_config.hpp"
#include "command/pflags.hpp"
#include "core/scheduler.hpp"
#include "http/io_thread.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "server/endpoints.hpp"
#include "server/process_metrics.hpp"
#include "server/server.hpp"

namespace berth::command {
namespace {

struct Options {
  std::string config;
  std::string kubeconfig;
  std::string master;
  std::vector<std::string> feature_gates;
  std::string bind_address = "0.0.0.0";
  std::int64_t secure_port = 10259;
  bool leader_elect = false;
  std::int64_t verbosity = 0;
  std::string http_address = "127.0.0.1:10251";
  std::int64_t seed = 0;
  std::int64_t record_mib = 64;
  std::int64_t watch_idle_seconds = 90;
};

PFlags FlagsOf(Options& options);
Expected<int> Run(const Options& options);

int Complain(const std::string& what) {
  fmt::print(stderr, "Error: {}\n", what);
  return 1;
}

PFlags FlagsOf(Options& options) {
  PFlags flags;
  flags.String(
      "config", options.config,
      "The path to the configuration file (KubeSchedulerConfiguration, kubescheduler.config.k8s.io/v1).");
  flags.String("kubeconfig", options.kubeconfig,
               "Path to a kubeconfig; without it the pod's own service account is used.");
  flags.String("master", options.master,
               "The address of the Kubernetes API server (overrides any value in kubeconfig).");
  flags.String("bind-address", options.bind_address,
               "Accepted; serving over HTTPS is not part of this version.");
  flags.Integer("secure-port", options.secure_port,
                "Accepted; serving over HTTPS is not part of this version.");
  flags.List(
      "feature-gates", options.feature_gates,
      "Comma-separated Feature=true|false; may be repeated. Gates and defaults are those of kube-scheduler "
      "v1.37.1.");
  flags.Bool("leader-elect", options.leader_elect,
             "Stand by until the lease of the configuration's leaderElection is ours; off unless asked for.");
  flags.Integer("v", options.verbosity, "Number for the log level verbosity.");
  flags.Shorthand('v');
  flags.String("berth-http-address", options.http_address,
               "Where health and metrics are served over plain HTTP; port 0: not at all.");
  flags.Integer("berth-watch-idle-timeout", options.watch_idle_seconds,
                "Seconds after which a watch that says nothing is opened anew.");
  flags.Integer("berth-seed", options.seed,
                "Seed of random choices among equally good nodes; 0: a new one each time.");
  flags.Integer("berth-record-memory", options.record_mib,
                "How many MiB of past attempts are kept for explanations.");
  return flags;
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

// SIGINT and SIGTERM are taken by one thread with sigwait, so that no code runs in a signal handler.
// Construct before any other thread exists. The second signal ends the program at once.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }
  void OnFirst(std::function<void()> stop) {
    thread_ = std::jthread([this, stop = std::move(stop)] {
      for (int count = 0;; ++count) {
        int signal = 0;
        sigwait(&set_, &signal);
        if (signal == SIGUSR1) return;  // we are leaving by ourselves
        if (count > 0) _exit(1);
        stop();
      }
    });
  }
  ~Signals() {
    if (thread_.joinable()) pthread_kill(thread_.native_handle(), SIGUSR1);
  }

 private:
  sigset_t set_{};
  std::jthread thread_;
};

core::SchedulerOptions SchedulerOptionsOf(const Options& options, const config::SchedulerConfig& config) {
  core::SchedulerOptions scheduler;
  scheduler.queue.initial_backoff = config.pod_initial_backoff;
  scheduler.queue.max_backoff = config.pod_max_backoff;
  scheduler.decider.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score;
  scheduler.decider.seed =
      options.seed != 0 ? static_cast<std::uint64_t>(options.seed) : std::random_device{}();
  scheduler.record_bytes = static_cast<std::size_t>(options.record_mib) << 20;
  return scheduler;
}

// Null if serving is off.
Expected<std::unique_ptr<server::Server>> Serve(const Options& options, http::IoThread& io,
                                                server::Endpoints& endpoints) {
  const auto wrong = [&] {
    return Invalid(
        fmt::format("invalid argument \"{}\" for \"--berth-http-address\" flag: expected ADDRESS:PORT",
                    options.http_address));
  };
  const auto colon = options.http_address.rfind(':');
  if (colon == std::string::npos) return wrong();
  std::uint16_t port = 0;
  const char* begin = options.http_address.data() + colon + 1;
  const char* end = options.http_address.data() + options.http_address.size();
  if (const auto [rest, error] = std::from_chars(begin, end, port); error != std::errc{} || rest != end)
    return wrong();
  if (port == 0) return nullptr;
  BERTH_TRY(auto server, server::Server::Listen(io, endpoints, options.http_address.substr(0, colon), port));
  log::Info("Serving health and metrics", {{"address", options.http_address}});
  return server;
}

Expected<int> Run(const Options& options) {
  std::vector<std::string> notes;
  BERTH_TRY(const auto gates, config::FeatureGates::Parse(options.feature_gates, notes));
  BERTH_TRY(const config::SchedulerConfig config, LoadConfig(options.config, gates));
  const client::SystemEnvironment environment;
  const config::ClientConnection& wanted = config.client_connection;
  // The configuration file's kubeconfig counts first; kube-scheduler ignores the flag altogether once there
  // is a file.
  BERTH_TRY(
      client::ConnectionConfig connection,
      client::LoadConnection(
          {wanted.kubeconfig.empty() ? options.kubeconfig : wanted.kubeconfig, options.master}, environment));
  connection.qps = wanted.limits_given ? std::max(wanted.qps, 0.0) : 0;
  connection.burst = static_cast<int>(wanted.burst);

  Signals signals;
  const SystemClock clock;
  metrics::Registry metrics;
  http::IoThread io(clock);
  BERTH_TRY(const auto main_connection,
            client::Connection::Open(io, connection, environment, metrics, clock, "scheduler"));
  BERTH_TRY(const auto event_connection,
            client::Connection::Open(io, connection, environment, metrics, clock, ""));
  // Where several replicas run, one leads.
  LeaseFence fence(clock);
  const bool elect = options.leader_elect && config.leader_election.leader_elect;
  const client::LeaderElectionOptions election = ElectionOf(config, HostName());
  std::unique_ptr<client::Connection> lease_connection;
  if (elect) {
    BERTH_CHECKED(client::CheckLeaderElection(election));
    BERTH_TRY(lease_connection,
              client::Connection::Open(io, connection, environment, metrics, clock, "leader-election"));
  }
  auto writer = std::make_unique<client::ApiWriter>(
      io, main_connection->api(), clock, client::ApiWriterOptions{.fence = elect ? &fence : nullptr});
  auto events = std::make_unique<client::EventSink>(
      io, event_connection->api(), clock, metrics,
      // Ten times client-go's queue: bindings come in bursts of thousands here, and a burst should leave no
      // pod without its event.
      client::EventSinkOptions{.hostname = HostName(), .queue_capacity = 10'000, .under_pressure = [&writer] {
                                 return writer->Backlog() > 0;
                               }});

  BERTH_TRY(const auto engine,
            assembly::Engine::Build(config, assembly::InTreePlugins(), *writer, notes,
                                    {.registry = &metrics, .clock = &clock, .options = {}}));
  for (const std::string& note : notes) log::Warning(note);
  log::Info(
      "Pods that use resource claims or devices of a DeviceClass wait: Berth does not allocate devices yet");
  core::SchedulerOptions scheduler_options = SchedulerOptionsOf(options, config);
  scheduler_options.stand_by = elect;
  core::Scheduler scheduler(scheduler_options, {engine->handle(), engine->cache(), engine->profiles(),
                                                *events, clock, metrics, elect ? &fence : nullptr});
  std::unique_ptr<Leadership> leadership;
  if (elect) {
    leadership =
        std::make_unique<Leadership>(election, config.delay_cache_until_active,
                                     LeadershipParts{io, lease_connection->api(), event_connection->api(),
                                                     clock, metrics, fence, scheduler, *writer});
  }
  server::AddProcessMetrics(metrics, clock);
  server::Endpoints endpoints(metrics);
  endpoints.AddHealth("healthz", {server::Ping()});
  endpoints.AddHealth("livez", {server::Ping()});
  endpoints.AddHealth("readyz", {{"sched-handler-sync", [&scheduler]() -> std::optional<std::string> {
                                    if (scheduler.synced()) return std::nullopt;
                                    return "handlers are not fully synchronized";
                                  }}});
  endpoints.AddVerbosity();
  BERTH_TRY(const auto server, Serve(options, io, endpoints));
  auto source = std::make_unique<client::ClusterSource>(
      io, main_connection->api(), metrics, scheduler.sink(),
      client::ClusterSourceOptions{.watch_idle_timeout = std::chrono::seconds(options.watch_idle_seconds),
                                   .on_synced = [&leadership] {
                                     if (leadership) leadership->OnSynced();
                                   }});
  signals.OnFirst([&] { leadership ? leadership->Leave() : scheduler.Stop(); });
  log::Info("Starting Berth", {{"follows", "Kubernetes v1.37.1"},
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
  events.reset();
  writer.reset();
  return code;
}

}  // namespace

int RunSchedulerCommand(std::span<const std::string> args) {
  Options options;
  PFlags flags = FlagsOf(options);
  if (auto parsed = flags.Parse(args); !parsed) return Complain(parsed.error().message);
  if (flags.help_wanted()) {
    fmt::print(
        "Schedules the pods of a cluster as kube-scheduler v1.37.1 does.\n\nUsage:\n  berth scheduler "
        "--kubeconfig FILE [--config FILE]\n\n"
        "Flags:\n{}",
        flags.Usage());
    return 0;
  }
  log::SetVerbosity(static_cast<int>(options.verbosity));
  const auto ran = Run(options);
  return ran ? *ran : Complain(ran.error().message);
}

}  // namespace berth::command
