#include "tools/extender_server/extender_process.hpp"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <optional>

#include "base/go_duration.hpp"
#include "base/lease_fence.hpp"
#include "http/io_thread.hpp"
#include "http/server.hpp"
#include "kubernetes/client/api_writer.hpp"
#include "kubernetes/client/connection.hpp"
#include "kubernetes/client/connection_config.hpp"
#include "kubernetes/client/environment.hpp"
#include "kubernetes/ports/dry_run_ports.hpp"
#include "observability/log/log.hpp"
#include "process/api_connections.hpp"
#include "process/host_port.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "process/long_running_process.hpp"
#include "process/measuring.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/cycle/cluster_follower.hpp"
#include "scheduler/cycle/cluster_loop.hpp"
#include "service/endpoints.hpp"
#include "service/serving_certificates.hpp"
#include "service/serving_limits.hpp"
#include "service/tls_listener.hpp"

namespace berth::extender_server {
namespace {

constexpr std::chrono::seconds kDrain{5};
// Of a client without the required certificate: enough for every request that it may make.
constexpr std::size_t kAnonymousBodyBytes = 64 << 10;

http::Response Refusal(int status, const char* too_large) {
  http::Response response;
  response.status = status;
  response.body = ShareText(status == 413   ? too_large
                            : status == 431 ? "the headers are too large\n"
                            : status == 400 ? "not an HTTP request\n"
                                            : "internal error\n");
  return response;
}

// The listeners: HTTPS, plain HTTP, or both. On their own thread: reading ten megabytes of nodes must not
// delay the watches.
class Listeners {
 public:
  Listeners(const ExtenderOptions& options, const client::Environment& environment, const Clock& clock)
      : options_(options), environment_(environment), clock_(clock), io_(clock) {}
  ~Listeners() { Close(); }

  http::IoThread& io() { return io_; }
  Expected<void> Open(extender_server::Service& service);
  void Close();

 private:
  http::ServerOptions Options() const;
  Expected<void> SetClientAuthority(http::ServerTlsOptions& tls) const;

  const ExtenderOptions& options_;
  const client::Environment& environment_;
  const Clock& clock_;
  http::IoThread io_;
  std::unique_ptr<http::Server> open_;
  std::unique_ptr<service::TlsListener> secure_;
};

http::ServerOptions Listeners::Options() const {
  service::ServingLimits limits;
  limits.connections = static_cast<std::size_t>(options_.connections);
  limits.body_bytes = static_cast<std::size_t>(options_.body_mib) << 20;
  http::ServerOptions options = service::OptionsWithin(limits);
  const char* too_large = "the request is larger than --max-request-mib allows\n";
  if (options_.service.require_certificate) {
    options.anonymous_body_limit_bytes = kAnonymousBodyBytes;
    too_large =
        "the request is larger than --max-request-mib allows, or it is larger than 64 KiB and has no client "
        "certificate signed by --client-ca-file\n";
  }
  options.refusal = [too_large](int status) { return Refusal(status, too_large); };
  return options;
}

Expected<void> Listeners::SetClientAuthority(http::ServerTlsOptions& tls) const {
  tls.trust_later = false;  // the one authority is known at the start
  if (options_.client_ca_file.empty()) return {};
  auto authority = environment_.ReadFile(options_.client_ca_file);
  if (!authority) return std::unexpected(std::move(authority).error().In("--client-ca-file"));
  tls.client_ca_pem = std::move(*authority);
  return {};
}

Expected<void> Listeners::Open(extender_server::Service& service) {
  const auto handler = [&service](http::Request request, std::shared_ptr<http::Exchange> exchange) {
    service.Handle(std::move(request), std::move(exchange));
  };
  if (!options_.http_address.empty()) {
    const std::optional<process::HostPort> address = process::ParseHostPort(options_.http_address);
    if (!address) {
      return Invalid(fmt::format("--http-address {}: expected ADDRESS:PORT such as 127.0.0.1:8888",
                                 options_.http_address));
    }
    http::ServerOptions options = Options();
    options.address = address->host;
    options.port = address->port;
    Expected<std::unique_ptr<http::Server>> listening;
    io_.Sync([&] { listening = http::Server::Listen(io_.context(), std::move(options), handler); });
    BERTH_TRY(open_, std::move(listening));
    log::Info("Serving the extender over HTTP", {{"address", open_->address()}});
  }
  if (options_.serving.port == 0) return {};
  BERTH_TRY(auto certificates, service::ServingCertificates::Load(options_.serving, environment_, clock_));
  http::ServerOptions options = Options();
  options.address = options_.serving.bind_address;
  options.port = static_cast<std::uint16_t>(options_.serving.port);
  options.both_families = true;
  Expected<std::unique_ptr<service::TlsListener>> listening;
  io_.Sync([&] {
    listening = service::TlsListener::Listen(
        io_, environment_, std::move(certificates),
        [this](http::ServerTlsOptions& tls) { return SetClientAuthority(tls); }, std::move(options), handler);
  });
  BERTH_TRY(secure_, std::move(listening));
  log::Info("Serving the extender over HTTPS", {{"address", secure_->server().address()}});
  return {};
}

void Listeners::Close() {
  const auto drain = [this](http::Server& server) {
    std::promise<void> drained;
    io_.Sync([&] { server.Stop(kDrain, [&] { drained.set_value(); }); });
    drained.get_future().wait();
  };
  if (open_) drain(*open_);
  if (secure_) drain(secure_->server());
  io_.Sync([this] {
    open_.reset();
    secure_.reset();
  });
}

// The parts in the order of their dependencies. The loop only follows the cluster, including nominations, and
// evaluates requests between two changes.
class Process final : public process::LongRunningProcess {
 public:
  Process(const ExtenderOptions& options, const config::SchedulerConfig& config,
          const runtime::Registry& plugins)
      : options_(options), config_(config), plugins_(plugins), listeners_(options_, environment_, clock_) {}
  // Writes that the end of the writer cancels are answered through the listeners' thread, so the writer ends
  // before that thread. Work in the loop may hold requests, too.
  ~Process() override {
    listeners_.Close();
    writer_.reset();
    loop_.DropPending();
  }

 private:
  Expected<void> Assemble(std::vector<std::string>& notes) override;
  Expected<int> Run() override;
  void Stop() override;
  Expected<void> Connect();
  void MakeService();

  const ExtenderOptions& options_;
  const config::SchedulerConfig& config_;
  const runtime::Registry& plugins_;
  std::unique_ptr<client::Connection> connection_;
  LeaseFence fence_ = LeaseFence::AlwaysOpen(clock_);
  std::unique_ptr<client::ApiWriter> writer_;
  ports::DiscardingEventSink no_events_;  // this process records no events
  const std::string empty_hostname_;      // the host name in events, which this process never records
  cycle::ClusterLoop loop_{clock_};
  assembly::DryRunPorts no_effects_;  // of plugins: only the service writes, to bind pods
  std::unique_ptr<assembly::Engine> engine_;
  std::optional<cycle::ClusterFollower> follower_;
  std::unique_ptr<process::Measuring> measuring_;  // null: no plugin uses measurements
  std::optional<extender_server::Evaluator> evaluator_;
  std::unique_ptr<service::Endpoints> endpoints_;
  Listeners listeners_;
  std::unique_ptr<extender_server::Service> service_;
  std::unique_ptr<client::ClusterSource> source_;
};

Expected<void> Process::Connect() {
  client::ConnectionFlags wanted{options_.kubeconfig, options_.master};
  if (wanted.kubeconfig.empty()) wanted.kubeconfig = config_.client_connection.kubeconfig;
  BERTH_TRY(const client::ConnectionConfig server, client::LoadConnection(wanted, environment_));
  BERTH_TRY(connection_, client::Connection::Open(io_, server, environment_, metrics_, clock_, "extender"));
  writer_ = std::make_unique<client::ApiWriter>(io_, connection_->api(), clock_, fence_);
  log::Info("Following the cluster", {{"server", server.origin.host}, {"port", server.origin.port}});
  return {};
}

Expected<void> Process::Assemble(std::vector<std::string>& notes) {
  BERTH_RETURN_IF_ERROR(Connect());
  BERTH_TRY(engine_, assembly::Engine::Build(config_, plugins_, no_effects_.ports(loop_), notes,
                                             {.registry = &metrics_, .clock = &clock_, .options = {}}));
  if (!options_.evaluator.profile.empty() && engine_->FindProfile(options_.evaluator.profile) == nullptr) {
    return Invalid(fmt::format("--profile {}: no such profile; the configuration has \"{}\"",
                               options_.evaluator.profile, engine_->profiles().front()->name()));
  }
  follower_.emplace(engine_->symbols(), engine_->cache(), engine_->pending(), engine_->profiles());
  BERTH_TRY(measuring_, process::Measuring::Start({options_.metric_sources, engine_->handle(), environment_,
                                                   clock_, metrics_, no_events_, empty_hostname_}));
  MakeService();
  BERTH_RETURN_IF_ERROR(listeners_.Open(*service_));
  client::ClusterSourceOptions source;
  source.retained = engine_->retained_fields();
  source_ =
      SourceOf(connection_->api(), loop_.sink(), config_.client_connection, measuring_, std::move(source));
  return {};
}

void Process::MakeService() {
  endpoints_ = std::make_unique<service::Endpoints>(metrics_);
  endpoints_->AddHealth("healthz", {});
  endpoints_->AddHealth("livez", {});
  endpoints_->AddHealth("readyz", {{"informer-sync", [this]() -> std::optional<std::string> {
                                      if (loop_.synced()) return std::nullopt;
                                      return "the caches are not synchronized yet";
                                    }}});
  evaluator_.emplace(*engine_, options_.evaluator);
  service_ = std::make_unique<extender_server::Service>(
      options_.service,
      extender_server::ServiceParts{.io = listeners_.io(),
                                    .post = [this](auto work) { loop_.Post(std::move(work)); },
                                    .evaluator = *evaluator_,
                                    .nominations = [this] { return follower_->Nominations(); },
                                    .ready = [this] { return loop_.synced(); },
                                    .api = *writer_,
                                    .clock = clock_,
                                    .metrics = metrics_,
                                    .endpoints = *endpoints_,
                                    .retained = engine_->retained_fields()});
}

Expected<int> Process::Run() {
  source_->Start();
  loop_.Run(*follower_);
  source_.reset();
  return 0;
}

void Process::Stop() {
  listeners_.Close();  // before the evaluator stops, so that pending requests are answered
  loop_.Stop();
}

// Checks the combination of options and completes them.
Expected<void> Complete(ExtenderOptions& options, std::vector<std::string>& notes) {
  ServiceOptions& service = options.service;
  service.require_certificate = !options.client_ca_file.empty();
  if (service.require_certificate && options.serving.port == 0)
    return Invalid("--client-ca-file needs --secure-port: plain HTTP has no client certificates");
  if (service.require_certificate && !options.http_address.empty())
    return Invalid("--client-ca-file and --http-address: plain HTTP has no client certificates");
  if (options.allow_anonymous_bind && !service.bind)
    return Invalid("--allow-anonymous-bind and --no-bind: only one of them can be set");
  if (options.allow_anonymous_bind && service.require_certificate)
    return Invalid("--allow-anonymous-bind and --client-ca-file: only one of them can be set");
  if (service.bind && !service.require_certificate && !options.allow_anonymous_bind) {
    service.bind = false;
    notes.emplace_back(
        "bind is not served, because clients are not authenticated: set --client-ca-file, or --no-bind to "
        "omit this line, or --allow-anonymous-bind");
  }
  if (options.http_address.empty() && options.serving.port == 0)
    return Invalid("no listen address: set --secure-port or --http-address");
  std::string& prefix = service.prefix;
  while (prefix.ends_with('/')) prefix.pop_back();
  if (!prefix.empty() && !prefix.starts_with('/')) prefix.insert(0, "/");
  if (service.deadline.count() <= 0)
    return Invalid(fmt::format("--deadline {}: expected a duration above 0, such as 5s or 200ms",
                               FormatGoDuration(service.deadline)));
  return {};
}

}  // namespace

Expected<int> RunExtender(ExtenderOptions options, const runtime::Registry& built_in) {
  std::vector<std::string> notes;
  BERTH_RETURN_IF_ERROR(Complete(options, notes));
  log::SetVerbosity(options.verbosity);
  BERTH_TRY(const runtime::Registry plugins, process::WithLoadedPlugins(built_in, options.plugins, notes));
  BERTH_TRY(config::SchedulerConfig config, process::LoadConfig(options.config, plugins));
  if (!config.extenders.empty()) {
    config.extenders.clear();
    notes.emplace_back(
        "the extenders of the configuration are not called: this process is an extender itself");
  }
  return Process(options, config, plugins).Execute(std::move(notes));
}

}  // namespace berth::extender_server
